# SQL over a small trace: every format, the descriptions, what is refused, and where output goes.
"$RIDGE" query "$TESTS/format/example.ridge" "SELECT 1" > /dev/null 2> said || {
    grep -q "no SQLite" said && echo "SKIP this build has no SQLite" && exit 77
}
rm said
query() { "$RIDGE" query "$TESTS/format/example.ridge" "$@" 2>&1 || echo "status $?"; }

kernels="SELECT name, start, \"end\", device, stream, bytes, duration / 1e3 AS us FROM kernel"
query "$kernels"
query --format md "$kernels"
query --format csv "$kernels" | tr '\r' '$'
query --format json "$kernels"
query --json "SELECT 1 AS one WHERE 0"
query "SELECT 1 AS one WHERE 0"
query "SELECT 'a|b' AS pipe, x'00ff' AS blob, NULL AS none, 9223372036854775807 AS most"
query --json "SELECT 'a\"b' AS \"quo\"\"te\", x'00ff' AS blob, NULL AS none, 1e999 AS infinite"

query .tables
query ".schema queue"
query ".schema everything"

# An SQLite before 3.38 does not tell where in the statement it went wrong.
without_place() { sed "s/ at character [0-9]*, before '[^']*'//"; }
query "SELECT * FORM kernel" | without_place
query "SELECT * FROM kernels" | without_place
query "SELECT name FROM kernel WHERE colour = 1" | without_place
query "DROP VIEW kernel"
query "ATTACH 'other.db' AS other"
query "SELECT 1; SELECT 2"
query ""

query -o rows.csv --format csv "SELECT start FROM activity"
cat rows.csv | tr '\r' '$'
query -o rows.csv "SELECT 1"
query -f -o rows.csv "SELECT 1"
query -f -o rows.csv "SELECT abs(-9223372036854775807 - 1)"
cat rows.csv
ls
