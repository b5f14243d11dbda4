#!/bin/sh
# Compares `ridge report --format json` with figures computed independently: on the project's own traces,
# and on the shared fixtures where they are.
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
[ -r "$fixtures/truth.json" ] || fixtures=
[ -x "$ridge" ] || skip "there is no $ridge: run make first"
exec python3 -B "$here/truth.py" "$ridge" "$here/../fixtures" ${fixtures:+"$fixtures"}
