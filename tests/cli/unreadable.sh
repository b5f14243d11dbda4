# A file that may not be read. Root may read everything, so root becomes someone else for this.
as_someone() { "$@"; }
if [ "$(id -u)" = 0 ]; then
    as_someone() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
    chmod 777 .
    if ! as_someone "$RIDGE" --version > /dev/null 2>&1; then
        echo "SKIP root may read everything, and cannot become someone else here"
        exit 77
    fi
fi
echo '{"traceEvents":[]}' > secret.json
chmod 000 secret.json
as_someone "$RIDGE" info secret.json
echo "status $?"
as_someone "$RIDGE" import secret.json -o out.ridge
echo "status $?"
ls
echo "- a file that may not grow"
mkdir grow
(
    ulimit -f 20
    "$RIDGE" report "$TESTS/../examples/train.ridge" --format html -o grow/page.html
    echo "status $?"
)
ls -A grow
