# Ctrl-C ends an endless query, and leaves no file behind.
"$RIDGE" query "$TESTS/format/example.ridge" "SELECT 1" > /dev/null 2> said || {
    grep -q "no SQLite" said && echo "SKIP this build has no SQLite" && exit 77
}
rm -f said
endless="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
set -m # background jobs take SIGINT only with job control
sleep 2 &
kill -INT $!
wait $! 2> /dev/null && echo "SKIP SIGINT is ignored here" && exit 77 # as in a background job of a script
"$RIDGE" query "$TESTS/format/example.ridge" "$endless" -o rows.txt > printed 2>&1 &
ridge=$!
. "$TESTS/patient.sh"
has_begun() { ls rows.txt.*.tmp; }
until_true has_begun
sleep 0.1
kill -INT $ridge
wait $ridge 2> /dev/null
echo "status $?"
cat printed
rm printed
ls
