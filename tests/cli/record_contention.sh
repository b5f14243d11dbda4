# A short run of tests/long/recorders.
RIDGE=$RIDGE "$TESTS/long/recorders" 40 200 5
