# JSON that is hostile or holds impossible times: one line, exit 2, nothing left behind.
try() {
    "$RIDGE" import "$@" > printed 2> said
    code=$?
    [ -s printed ] && echo "printed something: $(head -c 200 printed)"
    [ "$code" = 2 ] || echo "status $code"
    [ "$(wc -l < said)" = 1 ] || echo "not one line: $(wc -l < said)"
    [ "$(wc -c < said)" -lt 400 ] || echo "too long: $(wc -c < said) bytes"
    grep -o '^ridge import: [a-z0-9.]*: ' said
    rm -f printed said
    for left in *.ridge *.tmp; do if [ -e "$left" ]; then echo "left behind: $left"; fi; done
}

head -c 1000000 /dev/zero | tr '\0' '[' > deep1.json
try deep1.json
{
    printf '{"traceEvents":'
    head -c 1000000 /dev/zero | tr '\0' '['
} > deep2.json
try deep2.json
{
    printf '{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1,"args":'
    head -c 1000000 /dev/zero | sed 's/\x00/{"a":/g'
} > deep3.json
try deep3.json

event() { printf '{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,%s}]}' "$1"; }
event '"ts":1,"dur":-5' > negative1.json
try negative1.json
event '"ts":-1,"dur":5' > negative2.json
try negative2.json
event '"ts":99999999999999999999999,"dur":5' > large1.json
try large1.json
event '"ts":1,"dur":1e300' > large2.json
try large2.json

# with --skip-invalid such events are dropped and counted
printf '{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":-5,"pid":1,"tid":1},' > mixed.json
printf '{"ph":"X","name":"b","ts":1,"dur":5,"pid":1,"tid":1}]}' >> mixed.json
"$RIDGE" import mixed.json -o mixed.ridge --skip-invalid | sed 's/ ->.*//'
"$RIDGE" info mixed.ridge | grep dropped
