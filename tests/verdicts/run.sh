#!/bin/sh
# Checks the sentences and figures of verdicts: a suite of tests/run.
#
#   RIDGE=build/ridge tests/verdicts/run.sh [RANDOM [ABLATED]]
#
# Over examples, some traces of the corpus, the fixtures where they are, and random and ablated traces: 60
# and 20 of them in `make test`; by hand 8000 and 2000.
here=$(cd "$(dirname "$0")" && pwd)
RIDGE=${RIDGE:-$here/../../build/ridge}
export RIDGE PYTHONDONTWRITEBYTECODE=1
command -v python3 > /dev/null 2>&1 || {
    echo "SKIP python3 is not installed"
    exit 77
}
corpus=$here/../corpus/traces
if [ $# -gt 0 ]; then
    set -- --random "$1" --ablate "${2:-0}" "$corpus"/*.ridge
else
    set -- --random 60 --ablate 20 "$corpus"/*-whole.ridge "$corpus"/pair-*.ridge
fi
fixtures=${FIXTURES:-$here/../../../shared/fixtures}
for trace in "$fixtures"/kineto/*.gz "$fixtures"/nsys/*.sqlite "$fixtures"/xplane/*.pb "$fixtures"/rocprof/*.rpd; do
    [ -e "$trace" ] && set -- "$@" "$trace"
done
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ridge-verdicts.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
{
    python3 "$here/catalogue.py" "$fixtures"
    python3 "$here/profiler_cost.py"
    python3 "$here/reviewed.py" "$fixtures"
    python3 "$here/check.py" --count "$@" "$here"/../../examples/*.ridge "$here"/traces/* "$corpus"/*.json.gz
} > "$scratch/printed" 2>&1
grep -v '^[0-9]* passed, [0-9]* failed$' "$scratch/printed"
awk '/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3; suites++ }
     END { if (suites < 4) failed++; printf "%d passed, %d failed\n", passed, failed; exit failed > 0 }' "$scratch/printed"
