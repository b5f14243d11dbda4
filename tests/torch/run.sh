#!/bin/sh
# Random operations by libridge and by PyTorch; see compare.py. $RIDGE_PYTHON names a Python that has
# PyTorch. 400 cases, or as many as the first argument says.
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$(cd "$here/../.." && pwd)/$build ;; esac
python=${RIDGE_PYTHON:-python3}
skip() {
    echo "skipped tests/torch: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}
[ -z "${SAN:-}" ] || skip "a library with sanitizers cannot be loaded into python3"
"$python" -c 'import torch, numpy' 2> /dev/null || skip "PyTorch is not installed"
library=$build/libridge.so
[ -f "$library" ] || library=$build/libridge.dylib
RIDGE_LIBRARY=$library PYTHONPATH=$here/../../python PYTHONDONTWRITEBYTECODE=1 "$python" "$here/compare.py" "${1:-400}" "${2:-1}"
