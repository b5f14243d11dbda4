#!/usr/bin/env bash
# Trains the same models with libridge and with PyTorch and compares every step. Called by tests/run;
# prints `N passed, N failed, N skipped` last.
#
#   BUILD=build [RIDGE_PYTHON=python3] tests/training/run.sh [DEVICE]
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
python=${RIDGE_PYTHON:-python3}
if ! command -v "$python" > /dev/null; then
    echo "SKIP $python is not installed"
    exit 77
fi
if ! "$python" -c "import torch" 2> /dev/null; then
    echo "SKIP PyTorch is not installed for $python; RIDGE_PYTHON names another interpreter"
    exit 77
fi
library=
for name in libridge.so libridge.dylib; do
    [ ! -e "$build/$name" ] || library=$build/$name
done
if [ -z "$library" ]; then
    echo "SKIP there is no shared library in $build"
    exit 77
fi
exec "$python" tests/training/compare.py "$library" "${1:-cpu}"
