# The ways in. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PREFIX  ?= /usr/local
SCRIPTS := api-shell/launcher/src/main/scripts
BUILT   := target/built
MAVEN    = JAVA_HOME="$$($(SCRIPTS)/find-jdk)" mvn -ntp -B

# What a build reads. Folders count too, so that a file that went away is noticed.
MODULES := bpf-src native-bindings maps conntrack datapath api-shell benchmarks
SOURCES := pom.xml .mvn $(shell find .mvn $(MODULES) -name target -prune -o -print)

.PHONY: help deps build test demo bench install uninstall clean

help: ## print this list
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r target what; do \
	  printf '  make %-10s %s\n' "$$target" "$$what"; done

deps: ## install what is missing on this machine (apt-get, as root)
	@.build/install-dependencies

build: $(BUILT) ## build everything; again only what changed
$(BUILT): $(SOURCES) | deps
	$(MAVEN) -DskipTests package
	@mkdir -p $(@D) && touch $@

test: deps ## run every test, kernel tests included (as root; CI=true makes a skipped one a failure)
	$(MAVEN) -fae verify
	@mkdir -p $(dir $(BUILT)) && touch $(BUILT)

demo: $(BUILT) ## show three workloads, a policy and the prefilter on this machine (as root)
	$(SCRIPTS)/demo

bench: $(BUILT) ## measure, each figure beside its reference (as root)
	benchmarks/run

install: $(BUILT) ## install PREFIX/bin/agent and PREFIX/bin/agentctl (PREFIX=/usr/local)
	$(SCRIPTS)/install '$(PREFIX)'

uninstall: ## remove what install put under PREFIX
	$(SCRIPTS)/install --remove '$(PREFIX)'

clean: ## remove what was built
	find . -name target -type d -prune -exec rm -rf {} +
