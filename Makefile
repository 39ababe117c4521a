# `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PREFIX  ?= /usr/local
SCRIPTS := api-shell/launcher/src/main/scripts
BUILT   := target/built
MAVEN    = env JAVA_HOME="$$($(SCRIPTS)/find-jdk)" mvn -ntp -B

# The inputs of a build. Folders are listed, too, so that a removed file starts a new build.
MODULES := bpf-src native-bindings maps conntrack datapath api-shell benchmarks
SOURCES := pom.xml .mvn $(shell find .mvn $(MODULES) -name target -prune -o -print)

.PHONY: help deps build test test-quick kernels kernel-tests fuzz crash-rounds soak differential mutations-bpf mutations-java record-release
.PHONY: format demo bench bench-jmh install uninstall clean

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r target what; do \
	  printf '  make %-14s %s\n' "$$target" "$$what"; done

deps: ## install missing packages (apt-get, as root)
	@.build/install-dependencies

build: $(BUILT) ## build what changed
$(BUILT): $(SOURCES) | deps
	$(MAVEN) -DskipTests package
	@mkdir -p $(@D) && touch $@

test: deps ## run every test, kernel tests included (as root; CI=true makes a skipped one a failure)
	.build/check-spelling
	.build/test-run $(MAVEN) -fae verify
	@mkdir -p $(dir $(BUILT)) && touch $(BUILT)

test-quick: deps ## run the tests that start no agent and load no program, in a few minutes
	.build/test-run $(MAVEN) -T 2 -fae -Dquick -pl '!:fuzz' verify

kernels: deps ## load every program and walk an agent on Debian's stock kernels under emulation (as root; KERNELS="6.1 6.12", or unstable)
	.ci/kernels $(KERNELS)

kernel-tests: deps ## run kernel tests under emulation (as root; KERNEL=6.1, 6.12 or unstable; MODULE=datapath/programs, PATTERN of class names)
	@.build/install-dependencies qemu-system-x86 busybox-static kmod xz-utils
	LIMIT=$(or $(LIMIT),14400) .build/kernel-tests $(or $(KERNEL),6.12) $(or $(MODULE),datapath/programs) '$(or $(PATTERN),.*KernelTest)'

fuzz: deps ## fuzz each parser of outside input for DURATION=3600 seconds (TARGET chooses one, see FuzzTarget; FUZZ_SEED repeats a run)
	.build/named-tests api-shell/fuzz/FuzzTest -- \
	  $(MAVEN) -pl :fuzz -am -Dsurefire.failIfNoSpecifiedTests=false -Dtest=FuzzTest -Dfuzz.timeout=0 \
	  -Dfuzz.seconds=$(or $(DURATION),3600) $(if $(TARGET),-Dfuzz.target=$(TARGET)) $(if $(FUZZ_SEED),-Dfuzz.seed=$(FUZZ_SEED)) verify

crash-rounds: deps ## kill the agent in ROUNDS=200 rounds of random calls (as root; SEED repeats a run)
	.build/named-tests api-shell/launcher/CrashRoundsKernelTest -- \
	  $(MAVEN) -pl :launcher -am -Dsurefire.failIfNoSpecifiedTests=false -Dtest=CrashRoundsKernelTest \
	  -Dcrash.rounds=$(or $(ROUNDS),200) $(if $(SEED),-Dcrash.seed=$(SEED)) verify

record-release: deps ## record what this release leaves in the kernel and on disk, for the next one's upgrade test
	.build/named-tests api-shell/launcher/UpgradeKernelTest -- \
	  $(MAVEN) verify -pl :launcher -am -Dsurefire.failIfNoSpecifiedTests=false \
	  -Dtest='UpgradeKernelTest#shouldTakeOverFromARecordingOfThisRelease' -Dagent.recording='$(CURDIR)/target/recording'
	@echo "copy target/recording to release-<version> beside the others in api-shell/launcher/src/test/resources"

soak: deps ## send requests and questions through the proxies for DURATION=600 seconds while the policy changes (as root)
	.build/named-tests api-shell/launcher/ProxySoakKernelTest -- \
	  $(MAVEN) -pl :launcher -am -Dsurefire.failIfNoSpecifiedTests=false -Dtest=ProxySoakKernelTest \
	  -Dsoak.seconds=$(or $(DURATION),600) verify

differential: deps ## compare SETS=1000 random rule sets with a model, on flows of every way and through both proxies (as root; SEED repeats one)
	.build/named-tests api-shell/launcher/AgentDifferentialKernelTest -- \
	  $(MAVEN) -pl :launcher -am -Dsurefire.failIfNoSpecifiedTests=false -Dtest=AgentDifferentialKernelTest \
	  -Ddifferential.sets=$(or $(SETS),1000) $(if $(SEED),-Ddifferential.seed=$(SEED)) verify

mutations-bpf: deps ## plant the listed bugs in the programs and print how many the tests catch (as root; PART=1/8 plants an eighth of them)
	.build/named-tests datapath/manager/MutationsKernelTest datapath/endpoint/FlowMutationsKernelTest -- \
	  $(MAVEN) -pl :endpoint -am -Dmutations $(if $(PART),-Dmutations.part=$(PART)) -Dtest=MutationsKernelTest,FlowMutationsKernelTest \
	  -Dsurefire.failIfNoSpecifiedTests=false verify

mutations-java: deps ## plant bugs in the Java modules, print how many the unit tests find (an hour; below 95 % it fails)
	find . -path '*/target/pit-reports/*' -name mutations.csv -delete
	$(MAVEN) -q -fae -Pmutations-java process-test-classes; status=$$?; .build/mutation-scores && exit $$status

format: deps ## format the Java and C sources
	$(MAVEN) -q spotless:apply
	.build/format-c --write

demo: $(BUILT) ## run three workloads, a policy and the prefilter on this machine (as root)
	$(SCRIPTS)/demo

bench: $(BUILT) ## run the benchmarks, each figure beside its reference (as root)
	benchmarks/run

bench-jmh: $(BUILT) ## run the JMH benchmarks beside the last recorded run (as root; NAME=regex, PROF=gc, jfr or perfasm, JMH="-f 3 -i 10")
	benchmarks/run jmh $(if $(PROF),-prof '$(PROF)') $(JMH) $(if $(NAME),'$(NAME)')

install: $(BUILT) ## install PREFIX/bin/agent and PREFIX/bin/agentctl (PREFIX=/usr/local)
	$(SCRIPTS)/install '$(PREFIX)'

uninstall: ## remove the installation under PREFIX
	$(SCRIPTS)/install --remove '$(PREFIX)'

clean: ## remove build output
	find . -name target -type d -prune -exec rm -rf {} +
