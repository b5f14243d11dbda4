# Without the verdict the report is the account alone: the same lines, but for what was found.
trace=$TESTS/../examples/train.ridge
"$RIDGE" report "$trace" > whole && "$RIDGE" report "$trace" --no-verdict > account
grep -c '^Findings' whole account
diff whole account | grep '^>' || echo 'every line of the account is in the whole'
"$RIDGE" report "$trace" --no-verdict --json | grep -o '"verdict": *null'
