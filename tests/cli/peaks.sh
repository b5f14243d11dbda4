# What `ridge peaks` prints of any machine's CPU: every roof, within 80 columns, in all formats, and a
# picture. The first call measures, the others find what it kept.
export RIDGE_CACHE=$PWD/cache
"$RIDGE" peaks -d cpu --quick > text || exit 1
"$RIDGE" peaks -d cpu --quick > again
cmp text again && echo "measured once"
echo "- no line is longer than 80 columns or ends in blanks"
sed 's/±/+/g; s/─/-/g; s/µ/u/g; s/…/./g' text | awk 'length > 80 || / $/'
echo "- every roof has a line"
"$RIDGE" peaks -d cpu --quick --json > json
"$RIDGE" peaks -d cpu --quick --format json | cmp - json
"$RIDGE" peaks -d cpu --quick --format csv | tr -d '\r' > csv
"$RIDGE" peaks -d cpu --quick --format md > md
sed -n 's/^          "\([a-z0-9_]*\)": {$/\1/p; s/^        "\([a-z0-9_]*\)": {$/\1/p' json | grep -v '^roofs$' | sort > in_json
cut -d, -f2 csv | sed 1d | grep -v -e '^to_' -e '^working_set$' | sort | cmp - in_json && wc -l < in_json | tr -d ' '
grep -c '^| memory, copy (read + written) |' md
grep -c '^memory, copy (read + written)  ' text
echo "- the bandwidth by working set, from a cache to memory"
grep -c '^| working set |' md
grep -c '^ *working set ' text
[ "$(grep -c '^cpu:0,working_set,[0-9]*,' csv)" -ge 4 ] && echo "several sizes"
echo "- the roofline: ceilings with their ridge points"
grep -c '^f32  .*FLOP/s  *[0-9.]' text
echo "- a picture"
"$RIDGE" peaks -d cpu --quick --plot roofline.svg > /dev/null && tail -n 1 roofline.svg
"$RIDGE" peaks -d cpu --quick --plot roofline.svg
echo "status $?"
"$RIDGE" peaks -d cpu --quick --plot roofline.svg -f -o out.txt && cmp text out.txt && echo replaced
"$RIDGE" peaks -d cpu,cpu:0,cpu --quick --plot both.svg > two && ls both*
[ "$(grep -c '^roofline  ' two)" = 2 ] && echo "two rooflines"
echo "- mistakes"
"$RIDGE" peaks -d cpu --plot roofline.png
echo "status $?"
"$RIDGE" peaks -d cpu --plot roofline
"$RIDGE" peaks -d cpu, --quick
"$RIDGE" peaks -d nonsense 2>&1 | sed 's/;.*//'
"$RIDGE" peaks -d cpu -o /nowhere/at/all
ls
