# Where the output goes: default name, existing files, full disks, folders, several inputs.
one() { printf '{"traceEvents":[{"ph":"X","name":"%s","ts":%d,"dur":2,"pid":1,"tid":1}]}' "$1" "$2"; }
say() { "$@" 2>&1 | sed 's/[0-9.]* [KM]*B/SIZE/g'; echo "status ${PIPESTATUS[0]}"; }

mkdir inputs
one a 1 > inputs/first.json
one b 5 | gzip -n > inputs/second.pt.trace.json.gz
echo "- default names"
say "$RIDGE" import inputs/first.json
say "$RIDGE" import -q inputs/second.pt.trace.json.gz
ls

echo "- an existing output is kept without -f"
cp first.ridge before
say "$RIDGE" import inputs/second.pt.trace.json.gz -o first.ridge
cmp first.ridge before && echo same
say "$RIDGE" import inputs/second.pt.trace.json.gz -o first.ridge -fq
cmp -s first.ridge before || echo replaced

echo "- a failure keeps the old output"
cp first.ridge before
echo nonsense > bad.json
say "$RIDGE" import bad.json -o first.ridge -f
cmp first.ridge before && echo same

echo "- several files become one"
say "$RIDGE" import inputs/first.json inputs/second.pt.trace.json.gz -o both.ridge
"$RIDGE" info both.ridge --format json | grep -e '"sessions"' -e '"missing_chunks"' -e '"unfinished'
say "$RIDGE" import first.ridge first.ridge both.ridge -o all.ridge
"$RIDGE" info all.ridge --format json | grep -e '"sessions"' -e '"missing_chunks"' -e '"unfinished'
say "$RIDGE" import inputs/first.json missing.json -o never.ridge

echo "- full disk and other refusals"
if [ -w /dev/full ]; then say "$RIDGE" import inputs/first.json -o /dev/full; else
    echo "ridge import: /dev/full: cannot write: No space left on device"; echo "status 2"; fi
say "$RIDGE" import inputs/first.json -o inputs
say "$RIDGE" import inputs/first.json -o nowhere/x.ridge
say "$RIDGE" import inputs/first.json -o -
ls
