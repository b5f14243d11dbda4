# The suffix of -o chooses the format of report and export; --format overrides it.
trace=t.ridge
cp "$TESTS/../examples/train.ridge" t.ridge
for name in r.md r.json r.csv r.html r.txt r; do
    "$RIDGE" report "$trace" -o $name && echo "$name: $(head -c 15 $name | head -n 1 | tr -d '\r')"
done
"$RIDGE" report "$trace" --format csv --section copies -o other.txt && head -n 1 other.txt | tr -d '\r'
for name in e.json e.csv; do
    "$RIDGE" export "$trace" -o $name && echo "$name: $(head -c 12 $name | head -n 1)"
done
"$RIDGE" export "$trace" -o e.pftrace && "$RIDGE" info e.pftrace | grep -o 'format *perfetto'
"$RIDGE" export "$trace" -o e.unknown
echo "status $?"
"$RIDGE" report "$trace" --section kernel
echo "status $?"
"$RIDGE" report "$trace" --json --section kernels
echo "status $?"
