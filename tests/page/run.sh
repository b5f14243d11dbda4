#!/usr/bin/env bash
# The report's page in a real browser: see check.py. Called by tests/run; prints `N passed, N failed[, N
# skipped]` last, and leaves pictures of the views in BUILD/page.
#
#   BUILD=build tests/page/run.sh [WORD...]     tests whose name has one of the words; without any, all
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
if ! command -v python3 > /dev/null; then
    echo "SKIP python3 is not installed"
    exit 77
fi
if ! python3 -B -c 'import sys; sys.path.insert(0, "tests/page"); import browser; sys.exit(browser.find() is None)'; then
    echo "SKIP Chromium is not installed; where it can be, make test installs it"
    exit 77
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ridge-page.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$build/page" || exit 1
python3 -B tests/page/check.py "${RIDGE:-$build/ridge}" "$build/bench/generate" "${RIDGE_FIXTURES:-}" "$scratch" "$build/page" "$@"
