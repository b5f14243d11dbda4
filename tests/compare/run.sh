#!/bin/sh
# Scores `ridge diff` on recorded pairs of programs with one known change: a suite of tests/run.
#
#   RIDGE=build/ridge tests/compare/run.sh [FOLDER]
here=$(cd "$(dirname "$0")" && pwd)
RIDGE=${RIDGE:-${BUILD:-$here/../../build}/ridge}
export RIDGE PYTHONDONTWRITEBYTECODE=1
command -v python3 > /dev/null 2>&1 || {
    echo "SKIP python3 is not installed"
    exit 77
}
[ -r "${1:-$here/pairs}/pairs.json" ] || {
    echo "SKIP the pairs are not there: tests/compare/record makes them on a GPU"
    exit 77
}
exec python3 "$here/score.py" "${1:-$here/pairs}"
