#!/bin/sh
# Compares the figures of the project's own traces with expected/: a suite of tests/run. See figures.py.
#
#   RIDGE=build/ridge tests/figures/run.sh
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 > /dev/null 2>&1 || {
    echo "SKIP python3 is not installed"
    exit 77
}
exec python3 -B "$here/figures.py" "$@"
