#!/bin/sh
# Findings on Metal programs with one known trait each (README.md), the what-if of fusion, and the
# document in the form of a profiling guide: it agrees with the verdict and has no gaps. And
# scripts/try-on-mac, with the stand-in.
cd "$(dirname "$0")/../.." || exit 1
RIDGE=${RIDGE:-$BUILD/ridge}
if ! command -v python3 > /dev/null; then
    echo "SKIP python3 is not installed"
    exit 77
fi
if ! "$RIDGE" doctor | grep -q 'yes  xctrace traces'; then
    echo "SKIP this ridge was built without expat"
    exit 77
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
python3 -B tests/xctrace/tables.py "$folder" || exit 1
passed=0 failed=0

check() { # WHAT, of the last command's status
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $1"
    fi
}

# expect PROGRAM KIND WORDS...: the first finding, and what its JSON contains
expect() {
    program=$1 kind=$2
    shift 2
    "$RIDGE" report "$folder/$program" --json > "$folder/report.json"
    python3 -B - "$folder/report.json" "$kind" "$@" << 'END'
import json
import sys
finding = json.load(open(sys.argv[1], encoding="utf-8"))["verdict"]["findings"][0]
text = json.dumps(finding)
if finding["kind"] != sys.argv[2]:
    sys.exit(f"the first finding is {finding['kind']}, not {sys.argv[2]}")
for words in sys.argv[3:]:
    if words not in text:
        sys.exit(f"{words} is not in {text}")
END
    check "$program: $kind" $?
}

expect eager memory-bound "mx.compile" "--fuse"
expect eager-unnamed tiny-kernels "mx.compile" "Name the kernels"
expect synchronous sync-in-loop "waitUntilCompleted"
expect compiling compilation "MTLBinaryArchive" "Compile Compute shader"
expect lazy host-bound "Lazy evaluation" "mx.async_eval"
expect throttled throttling "thermal state is serious" "from maximum to medium"
expect cpu-fallback on-cpu "cblas_sgemm" "mx.gpu"
expect no-gpu on-cpu "cblas_sgemm"

"$RIDGE" report "$folder/compiled" --json | grep -Eq '"kind": "(memory-bound|tiny-kernels)"'
check "compiled: nothing to fuse" $((! $?))
"$RIDGE" report "$folder/warm-up" | grep -q 'Judged: steady steps'
check "warm-up: judges the steady steps" $?
"$RIDGE" report "$folder/warm-up" --json | grep -Eq '"kind": "(compilation|throttling)"'
check "warm-up: no finding about the first steps" $((! $?))
"$RIDGE" report "$folder/warm-up" --steps all --section calls | grep -q 'Compile Compute shader'
check "warm-up: the compilations are in the whole run" $?
"$RIDGE" whatif "$folder/eager" --fuse | grep -q '600 kernels become 60'
check "whatif --fuse fuses the chains" $?
"$RIDGE" whatif "$folder/eager-unnamed" --fuse='Compute Command' | grep -q '600 kernels become 60'
check "whatif --fuse takes a pattern" $?
"$RIDGE" diff "$folder/eager" "$folder/compiled" > "$folder/diff" && grep -q 'faster' "$folder/diff"
check "diff of eager and compiled" $?

for program in eager synchronous compiling lazy throttled cpu-fallback; do
    "$RIDGE" report "$folder/$program" -o "$folder/RESULTS.md" -f
    title=$("$RIDGE" report "$folder/$program" --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["verdict"]["findings"][0]["title"])')
    grep -qxF "1. **Bottleneck Identified**: $title" "$folder/RESULTS.md"
    check "$program: the document names the bottleneck of the verdict ($title)" $?
    for line in '## Date: 2' '- Device: M3' '   - Evidence: ' '   - Impact: [0-9]' '   - Root cause: ' \
        '\*\*GPU Utilization\*\*: [0-9]' '   - Transfers: ' '   - Potential gain: [0-9]' '   - Effort: ' \
        '   - Approach: ' '| Total time | [0-9]' '| GPU utilization | .* | >80 % |' '| Kernel count | [0-9]' \
        '| Avg kernel time | [0-9]' '| Avg gap time | .*<1 µs' '| Launch efficiency | .* | >70 % |'; do
        grep -q -- "$line" "$folder/RESULTS.md"
        check "$program: $line" $?
    done
done
PATH=$PWD/tests/xctrace:$PATH
if [ -d "${RIDGE_FIXTURES:-none}/xctrace/m1-compute-baseline" ]; then
    XCTRACE_STANDIN=real "$RIDGE" record --backend xctrace -q -o "$folder/real.ridge" -- true 2> "$folder/real.log"
    "$RIDGE" report "$folder/real.ridge" | grep -q '^The GPU is idle 96 % of the time, mostly because the host synchronizes'
    check "a real recording through the stand-in" $?
    "$RIDGE" query "$folder/real.ridge" "SELECT count(*) FROM activity" --format csv | grep -q '^1000'
    check "its GPU intervals" $?
fi
XCTRACE_STANDIN=slow python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' \
    "$RIDGE" record --backend xctrace -o "$folder/slow.ridge" -- true < /dev/null > "$folder/slow.log"
grep -q 'exporting metal-gpu-intervals, 4 of 11' "$folder/slow.log"
check "progress on a terminal while exporting" $?
TRY_ON_MAC_ANYWHERE=1 scripts/try-on-mac "$folder/mac" > "$folder/mac.log"
check "scripts/try-on-mac with the stand-in: $(tail -n 1 "$folder/mac.log")" $?
[ -s "$folder/mac.tar.gz" ] && [ "$(grep -c '^ok ' "$folder/mac/SUMMARY")" -ge 11 ]
check "scripts/try-on-mac packs the results" $?
echo "$passed passed, $failed failed"
[ $failed = 0 ]
