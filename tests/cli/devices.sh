# What `ridge devices` prints of any machine: every kind of device is there, usable or with a reason.
"$RIDGE" devices > text
"$RIDGE" devices --format json > json
"$RIDGE" devices --json | cmp - json
head -n 1 text | tr -s ' '
echo "- no line is longer than 80 columns"
sed 's/[^ -~]/x/g; s/xxx/x/g' text | awk 'length > 80'
echo "- the kinds"
sed -n 's/^ *"name": "\([a-z]*\)[:0-9]*",$/\1/p' json | sort -u
echo "- the CPU can always be used"
grep -c '^cpu ' text
sed -n '/"name": "cpu"/,/}/p' json | grep -c '"usable": true'
echo "- what cannot be used says why, in both"
unusable=$(grep -c '"usable": false' json)
[ "$(grep -c '"problem": "..........*"' json)" = "$unusable" ] && echo "a reason for each"
if [ "$unusable" = 0 ]; then echo "Not usable"; else grep '^Not usable$' text; fi
echo "- without drivers"
env LD_LIBRARY_PATH=/nowhere OCL_ICD_VENDORS=/nowhere "$RIDGE" devices > /dev/null && echo "no error"
echo "- mistakes"
"$RIDGE" devices cuda
echo "status $?"
