# A short run of tests/long/recorders.
[ -z "${SAN:-}" ] || { echo "SKIP a probe with a sanitizer needs a program with it" && exit 77; }
RIDGE=$RIDGE "$TESTS/long/recorders" 40 200 5
