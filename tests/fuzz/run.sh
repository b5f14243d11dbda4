#!/usr/bin/env bash
# The fuzz targets without libFuzzer: every seed, and a few hundred damaged traces and ablated imports
# that follow from a fixed seed. The numbers that these lead to are those of figures.txt; UPDATE=1 writes it
# anew, of 240 inputs each. tests/long/damaged runs thousands of them under sanitizers.
#
#   BUILD=build [FUZZ_COUNT=40] tests/fuzz/run.sh [TARGET...]
cd "$(dirname "$0")/../.." || exit 1
driver=${BUILD:-build}/fuzz-driver
count=${FUZZ_COUNT:-${UPDATE:+240}} count=${count:-40}
passed=0 failed=0
if [ ! -x "$driver" ]; then
    echo "SKIP $driver is not built"
    exit 77
fi
export TESTS=$PWD/tests
unset RIDGE_FIXTURES
folder=$(mktemp -d "${TMPDIR:-/tmp}/ridge-fuzz.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
libraries=$(sed -n 's/^LIBRARY_DEFINES := *//p' "${BUILD:-build}/dependencies.mk" 2> /dev/null)

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

# check_figures TARGET COUNT: each line is a test. What crashes is named by another run.
check_figures() {
    awk -v target="$1" -v count="$2" '$1 == target && $2 + 0 < count' tests/fuzz/figures.txt > "$folder/expected"
    if ! "$driver" "$1" --figures "$2" > "$folder/$1" 2> /dev/null; then
        run "$1" --random "$2"
        failed=$((failed + 1))
    fi
    [ -z "${UPDATE:-}" ] || return
    diff "$folder/expected" "$folder/$1" | sed -n 's/^> /FAILED other figures than in tests\/fuzz\/figures.txt: /p'
    passed=$((passed + $(grep -cxFf "$folder/expected" "$folder/$1")))
    failed=$((failed + $(grep -vcxFf "$folder/$1" "$folder/expected")))
}

[ $# -gt 0 ] || set -- $("$driver" --list)
for target; do
    case $target in
    ablated_nsys | ablated_rpd) [[ $libraries == *SQLITE* ]] && check_figures "$target" "$count" ;;
    ablated_xctrace) [[ $libraries == *EXPAT* ]] && check_figures "$target" "$count" ;;
    damaged) check_figures "$target" $((count * 3)) ;;
    ablated_* | report) check_figures "$target" "$count" ;;
    *) [ -d "tests/fuzz/seeds/$target" ] && run "$target" "tests/fuzz/seeds/$target"/* ;;
    esac
done
[ -z "${UPDATE:-}" ] || cat "$folder"/{ablated_*,damaged,report} > tests/fuzz/figures.txt
echo "$passed passed, $failed failed"
[ $failed = 0 ]
