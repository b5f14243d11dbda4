#!/usr/bin/env bash
# Builds ridge for macOS with zig and checks the files: architecture, the libraries that they need, the
# names that they export. They are not run: that needs a Mac (scripts/try-on-mac).
cd "$(dirname "$0")/../.." || exit 1
[ "$(uname -s)" != Darwin ] || { echo "SKIP this is macOS: make builds for it"; exit 77; }

# The stubs list every function of these libraries that ridge uses.
used=$(nm -D --undefined-only "${BUILD:-build}/ridge" 2> /dev/null |
    sed -n 's/.* U \(\(ZSTD_\|XML_\|sqlite3_\|inflate\|deflate\|uncompress\)[A-Za-z0-9_]*\).*/\1/p')
for name in $used; do
    grep -qwe "_$name" packaging/macos/lib*.tbd && continue
    echo "FAILED packaging/macos has no $name: add it if macOS 13 (zstd: 1.4) has it"
    echo "0 passed, 1 failed"
    exit 1
done

scripts/find-zig > /dev/null 2>&1 || { echo "SKIP zig is not installed (pip install ziglang)"; exit 77; }
command -v python3 > /dev/null || { echo "SKIP python3 is not installed"; exit 77; }
[ -z "${SAN:-}" ] || { echo "SKIP the sanitizers are those of this system"; exit 77; }
passed=0 failed=0
work=${BUILD:-build}/macos-test

check() { # check WHAT ACTUAL EXPECTED
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n  is:       %s\n  expected: %s\n' "$1" "$2" "$3"
    fi
}

values() { # values FILE WORD: sorted, on one line
    python3 tests/macos/macho.py "$1" | sed -n "s/^$2 //p" | LC_ALL=C sort -u | tr '\n' ' ' | sed 's/ $//'
}

# -O0: the build is the test. MAKEFLAGS is that of `make test`.
if ! MAKEFLAGS= make --no-print-directory macos BUILD="$work" CFLAGS=-O0 > "$work.log" 2>&1; then
    grep -m 5 -E 'error|undefined' "$work.log" || tail -n 5 "$work.log"
    echo "FAILED make macos"
    echo "0 passed, 1 failed"
    exit 1
fi
check "warnings" "$(grep -c 'warning: .*\[-W' "$work.log")" 0
public=$(nm -D --defined-only "${BUILD:-build}/libridge.so" | sed -n 's/.* T /_/p' | LC_ALL=C sort -u | tr '\n' ' ' | sed 's/ $//')
for cpu in arm64 x86_64; do
    folder=$work/macos/$cpu
    for file in ridge libridge.0.dylib libridge-probe.dylib; do
        check "$cpu $file: architecture" "$(values "$folder/$file" cpu)" $cpu
        check "$cpu $file: minimum system" "$(values "$folder/$file" minimum)" 13.0
    done
    check "$cpu ridge: kind" "$(values "$folder/ridge" kind)" program
    check "$cpu ridge: libraries" "$(values "$folder/ridge" library)" \
        "/usr/lib/libSystem.B.dylib /usr/lib/libexpat.1.dylib /usr/lib/libsqlite3.dylib /usr/lib/libz.1.dylib @rpath/libzstd.1.dylib"
    check "$cpu libridge: name" "$(values "$folder/libridge.0.dylib" name)" @rpath/libridge.0.dylib
    check "$cpu libridge: libraries" "$(values "$folder/libridge.0.dylib" library)" \
        "/usr/lib/libSystem.B.dylib /usr/lib/libz.1.dylib @rpath/libzstd.1.dylib"
    check "$cpu libridge: exports as on this system" \
        "$(values "$folder/libridge.0.dylib" exports | tr ' ' '\n' | grep -v '^__' | tr '\n' ' ' | sed 's/ $//')" "$public"
    check "$cpu probe: libraries" "$(values "$folder/libridge-probe.dylib" library)" /usr/lib/libSystem.B.dylib
    check "$cpu probe: weak libraries" "$(values "$folder/libridge-probe.dylib" weak)" \
        /System/Library/Frameworks/Metal.framework/Versions/A/Metal
    check "$cpu probe: replaced functions" "$(values "$folder/libridge-probe.dylib" section | tr ' ' '\n' | grep interpose)" \
        __DATA,__interpose
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
