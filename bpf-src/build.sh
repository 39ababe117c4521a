#!/bin/sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# Compiles the programs: build.sh [output directory], by default target/classes/bpf beside this script.
# Leaves there <name>.bpf.o, the sources and flags under src/, and build.properties; does nothing where
# the sources, the flags and the compiler are those of the last time. CLANG names another compiler.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/target/classes/bpf}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$here"

find_clang() {
    for candidate in ${CLANG:-} clang-19 clang-22 clang-21 clang-20 clang; do
        command -v "$candidate" >/dev/null 2>&1 || continue
        major=$(echo __clang_major__ | "$candidate" -E -P -x c - 2>/dev/null | tail -n 1)
        case $major in '' | *[!0-9]*) continue ;; esac
        [ "$major" -ge 19 ] || continue
        command -v "$candidate"
        return
    done
    echo "bpf-src: clang 19 or newer is required (package clang-19): kernels reject programs compiled by older versions" >&2
    exit 1
}

# Where asm/types.h is, on distributions that have a folder for each architecture.
multiarch_flags() {
    for folder in "/usr/include/$(uname -m)-linux-gnu" /usr/include/*-linux-gnu; do
        [ -e "$folder/asm/types.h" ] || continue
        echo "-idirafter $folder"
        return
    done
}

clang=$(find_clang)
version=$("$clang" --version | head -n 1)
sources=$(find clang.flags include programs tests -type f \( -name '*.h' -o -name '*.c' -o -name '*.budget' -o -name clang.flags \) | LC_ALL=C sort)
# One line a file, "<sha256>  <path>", in the order of the paths' bytes; the digest is that of these lines.
digest=$(sha256sum $sources | sha256sum | cut -d ' ' -f 1)
script=$(sha256sum build.sh | cut -d ' ' -f 1)
properties="sources.sha256=$digest
clang.version=$version
build.sha256=$script"

if [ -f "$out/build.properties" ] && [ "$(cat "$out/build.properties")" = "$properties" ]; then
    exit 0
fi

rm -rf "$out"/*.bpf.o "$out/src" "$out/build.properties"
pids=
for source in programs/*.bpf.c tests/*.bpf.c; do
    name=$(basename "$source" .c)
    # shellcheck disable=SC2046
    "$clang" $(cat clang.flags) $(multiarch_flags) -Iinclude -c "$source" -o "$out/$name.o" &
    pids="$pids $!"
done
for pid in $pids; do
    wait "$pid" || { echo "bpf-src: $version cannot compile the programs" >&2; exit 1; }
done
for source in $sources; do
    mkdir -p "$out/src/$(dirname "$source")"
    cp "$source" "$out/src/$source"
done
# Other folders' tools read which sources ship.
echo "$sources" >"$out/src/index"
echo "$properties" >"$out/build.properties"
