#!/bin/sh
# Compares `ridge report --format json` with the independent figures of the shared fixtures:
#
#   RIDGE=build/ridge FIXTURES=../shared/fixtures tests/truth/run.sh
#
# Prints a line for each mismatch and at last `N passed, N failed`; where it cannot run, "SKIP reason"
# with status 77.
here=$(cd "$(dirname "$0")" && pwd)
ridge=${RIDGE:-$here/../../build/ridge}
fixtures=${FIXTURES:-$here/../../../shared/fixtures}
skip() {
    echo "SKIP $1"
    exit 77
}
command -v python3 > /dev/null 2>&1 || skip "python3 is not installed"
[ -r "$fixtures/truth.json" ] || skip "the shared fixtures are not here"
[ -x "$ridge" ] || skip "there is no $ridge: run make first"
exec python3 -B "$here/truth.py" "$ridge" "$fixtures"
