#!/bin/sh
# Writes src/generated/java anew from the system's libbpf headers.
# JEXTRACT: the jextract to run (22 or newer, with libclang 14); CLANG_INCLUDE: that clang's own headers.
set -eu
cd "$(dirname "$0")"
JEXTRACT=${JEXTRACT:-jextract}
CLANG_INCLUDE=${CLANG_INCLUDE:-/usr/lib/llvm-14/lib/clang/14.0.6/include}

rm -rf src/generated/java
mkdir -p src/generated/java
"$JEXTRACT" \
  --output src/generated/java \
  --target-package agent.bindings.libbpf \
  --header-class-name Libbpf \
  --library :libbpf.so.1 \
  -I "$CLANG_INCLUDE" \
  @src/generated/libbpf-includes.txt \
  src/generated/libbpf.h
