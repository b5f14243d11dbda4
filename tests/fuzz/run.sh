#!/usr/bin/env bash
# The fuzz targets without libFuzzer: every seed, and a few hundred damaged traces and ablated imports
# that follow from a fixed seed. tests/long/damaged runs thousands of them under sanitizers.
#
#   BUILD=build tests/fuzz/run.sh [COUNT]
cd "$(dirname "$0")/../.." || exit 1
driver=${BUILD:-build}/fuzz-driver
count=${1:-60}
passed=0 failed=0
if [ ! -x "$driver" ]; then
    echo "SKIP $driver is not built"
    exit 77
fi
export TESTS=$PWD/tests

# run TARGET ARGUMENTS...: adds what the driver counts
run() {
    local printed summary
    printed=$("$driver" "$@" 2>&1)
    summary=$(tail -n 1 <<< "$printed")
    grep -v '^[0-9]* passed, ' <<< "$printed"
    if [[ $summary =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
    else
        echo "FAILED $driver $* ended early"
        failed=$((failed + 1))
    fi
}

for target in $("$driver" --list); do
    case $target in
    damaged) run "$target" --random $((count * 3)) ;;
    ablated_* | report) run "$target" --random "$count" ;;
    *) [ -d "tests/fuzz/seeds/$target" ] && run "$target" "tests/fuzz/seeds/$target"/* ;;
    esac
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
