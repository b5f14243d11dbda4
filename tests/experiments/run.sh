#!/usr/bin/env bash
# Runs every experiment at small sizes on the CPU and checks the figures with check.py. Called by
# tests/run; prints `N passed, N failed[, N skipped]` last. tests/long/experiments does it on OpenCL.
#
#   BUILD=build [OPTIONS=-n2] tests/experiments/run.sh [DEVICE...]
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
ridge=${RIDGE:-$build/ridge}
if ! command -v python3 > /dev/null; then
    echo "SKIP python3 is not installed"
    exit 77
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ridge-experiments.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0 skipped=0

has_device() { "$ridge" devices | grep -q "^$1[: ]"; }

check_device() {
    local device=$1 counts try
    if ! has_device "$device"; then
        echo "skipped the experiments on $device: there is none here"
        skipped=$((skipped + 1))
        return
    fi
    for try in 1 2 3; do # other programs can make a roof too low, not each time
        rm -f "$scratch/$device.json" "$scratch/$device.ridge"
        if ! "$ridge" bench all --quick -q $OPTIONS -d "$device" --json -o "$scratch/$device.json" \
            --trace "$scratch/$device.ridge" 2> "$scratch/errors"; then
            echo "FAILED ridge bench all --quick -d $device: $(cat "$scratch/errors")"
            failed=$((failed + 1))
            return
        fi
        python3 tests/experiments/check.py "$scratch/$device.json" > "$scratch/printed"
        grep -q '^FAILED .*faster than its roof' "$scratch/printed" || break
    done
    grep '^FAILED' "$scratch/printed"
    counts=$(tail -n 1 "$scratch/printed")
    passed=$((passed + $(echo "$counts" | sed 's/ passed.*//')))
    failed=$((failed + $(echo "$counts" | sed 's/.*passed, //; s/ failed.*//')))
    if "$ridge" report "$scratch/$device.ridge" > "$scratch/report" 2>&1; then
        passed=$((passed + 1))
    else
        echo "FAILED ridge report of the trace that ridge bench left: $(tail -n 1 "$scratch/report")"
        failed=$((failed + 1))
    fi
}

for device in ${*:-cpu}; do
    check_device "$device"
done
line="$passed passed, $failed failed"
[ $skipped = 0 ] || line="$line, $skipped skipped"
echo "$line"
[ $failed = 0 ]
