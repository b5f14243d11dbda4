#!/usr/bin/env bash
# The metal device on a stand-in for Metal that runs kernels on the CPU; see tests/metal/standin.h.
#
#   BUILD=build tests/metal/run.sh
#
# ridge's table of messages against the stand-in's, rules that the stand-in must notice, the device with
# other systems and with failures, and parts of the conformance program's quick set: compiling the kernels
# takes long. FULL_METAL=1 takes the whole set; tests/long/metal does that, or more. Ends with
# `N passed, N failed`.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
ridge=$build/ridge
. "$here/environment"
if [ -n "$metal_missing" ]; then
    echo "SKIP $metal_missing"
    exit 77
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ridge-metal.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C RIDGE_CACHE=off
passed=0 failed=0

# count NAME COMMAND...: adds the counts of its last line
count() {
    local name=$1 code
    shift
    "$@" > "$scratch/printed" 2>&1
    code=$?
    grep -a '^FAILED\|^metal stand-in' "$scratch/printed"
    if [[ $(tail -n 1 "$scratch/printed") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
        [ $code = 0 ] || [ "${BASH_REMATCH[2]}" != 0 ] || { echo "FAILED $name: status $code"; failed=$((failed + 1)); }
    else
        echo "FAILED $name ended early with status $code: $(tail -n 1 "$scratch/printed")"
        failed=$((failed + 1))
    fi
}

# expect NAME TEXT COMMAND...: prints the text, whatever its status, and breaks no rule
expect() {
    local name=$1 text=$2
    shift 2
    "$@" > "$scratch/printed" 2>&1
    if tr -s ' \n' '  ' < "$scratch/printed" | grep -aqF -- "$text" && ! grep -aq '^metal stand-in' "$scratch/printed"; then
        passed=$((passed + 1))
    else
        echo "FAILED $name: no \"$text\" in:"
        head -n 20 "$scratch/printed"
        failed=$((failed + 1))
    fi
}
conformance() { env "$@" "$build/conformance" metal --quick --part "$part"; }

count "the table of messages" "$build/metal/table" "$RIDGE_METAL_LIBRARY"
count "the rules" "$build/metal/misuse"

expect "the device in the list" "metal:0 Stand-in GPU 4.29 GB 8" "$ridge" devices
expect "a second device" "metal:1 Stand-in GPU 2" env METAL_STANDIN_DEVICES=2 "$ridge" devices
expect "no device" "this Mac has no Metal device" env METAL_STANDIN_DEVICES=0 "$ridge" devices
expect "a device number too high" 'this machine has only one metal device' "$ridge" peaks -d metal:3 --quick
expect "no library" "which RIDGE_METAL_LIBRARY names" env RIDGE_METAL_LIBRARY=/nonexistent "$ridge" devices

part=elementwise
expect "a GPU that times out" "the GPU failed: Caused GPU Timeout Error" conformance METAL_STANDIN_FAIL=5
expect "SIMD groups of 16" "SIMD groups of 16 threads; ridge's kernels need 32" conformance METAL_STANDIN_WIDTH=16
expect "kernels with few threads" "it allows at most 64" conformance METAL_STANDIN_THREADS=64
part=matmul
[ -z "${FULL_METAL:-}" ] || count "products on an older system" conformance METAL_STANDIN_SYSTEM=13
count "products without SIMD-group matrices" conformance METAL_STANDIN_FAMILY=0
part=failing_memory
count "a device with little memory" conformance METAL_STANDIN_MEMORY=16

if [ -n "${FULL_METAL:-}" ]; then
    count "the quick conformance set" "$build/conformance" metal --quick
else
    for part in elementwise special_values casts reductions quantized attention misuse; do
        count "$part" "$build/conformance" metal --quick --part $part
    done
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
