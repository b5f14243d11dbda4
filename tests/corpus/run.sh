#!/bin/sh
# Scores the diagnosis and the what-if predictions against the recorded corpus: a suite of tests/run.
#
#   RIDGE=build/ridge tests/corpus/run.sh [FOLDER]
#
# Prints what missed its bar and at last `N passed, N failed`; without traces "SKIP reason" and status 77.
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/traces}
RIDGE=${RIDGE:-$here/../../build/ridge}
export RIDGE PYTHONDONTWRITEBYTECODE=1
skip() {
    echo "SKIP $1"
    exit 77
}
command -v python3 > /dev/null 2>&1 || skip "python3 is not installed"
[ -r "$folder/truth.json" ] || skip "the corpus is not there: tests/corpus/generate makes it on a GPU"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ridge-corpus.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
python3 "$here/score.py" --count "$folder" > "$scratch/score" 2>&1
counts=$(tail -n 1 "$scratch/score")
passed=$(echo "$counts" | sed -n 's/^\([0-9]*\) passed, [0-9]* failed$/\1/p')
failed=$(echo "$counts" | sed -n 's/^[0-9]* passed, \([0-9]*\) failed$/\1/p')
[ -n "$failed" ] || passed=0 failed=1
[ "$failed" = 0 ] || {
    echo "FAILED the diagnosis missed a bar on the corpus:"
    cat "$scratch/score"
}
if python3 "$here/whatif_pairs.py" --bar "$folder" > "$scratch/pairs" 2>&1; then
    passed=$((passed + 1))
else
    echo "FAILED the predictions missed their bar on the corpus:"
    cat "$scratch/pairs"
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
