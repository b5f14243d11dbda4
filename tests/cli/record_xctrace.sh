# A recording by xctrace, with a stand-in for it: the program is what it would be alone, the bundle is
# imported, and what xctrace refuses is one line.
command -v python3 > /dev/null || { echo "SKIP python3 is not installed"; exit 77; }
"$RIDGE" doctor | grep -q 'yes  xctrace traces' || { echo "SKIP this ridge was built without expat"; exit 77; }
mkdir temporary
export TMPDIR=$PWD/temporary PATH=$TESTS/xctrace:$PATH
unset XCTRACE_STANDIN
plain() { sed -E 's/[0-9.]+ (ms|s|µs)( |:)/TIME\2/g; s/\([0-9.]+ [KM]?B\)/(SIZE)/; s/process [0-9]+/process PID/; s/byte [0-9]+ \([a-z ]+\)/byte N (what expat says)/; s|/[^ ]*/ridge-[A-Za-z0-9]*|TMP|g'; }
record() { "$RIDGE" record --backend xctrace "$@"; }
say() { "$@"; echo "status $?"; }

echo "- streams, folder, environment, arguments, status"
echo input | FOO=bar record -q -o x.ridge --env B='2 3' -- sh -c 'cat; [ "$PWD" = "$1" ] && echo same folder; echo "$FOO $B" >&2; exit 3' sh "$PWD" 2>&1
echo "status $?"
"$RIDGE" query x.ridge "SELECT value FROM meta WHERE key IN ('command', 'target.status')" --format csv | sed "s|$PWD|HERE|"
"$RIDGE" query x.ridge "SELECT name FROM process WHERE pid > 0" --format csv
ls -l x.ridge | cut -c1-10
say record -q -f -o x.ridge -- sh -c 'kill -9 $$' 2>&1 | grep status
record -q -f -o x.ridge -- sh -c '(yes; echo "yes ends with $?" >&2) | true' 2>&1
rm x.ridge

echo "- what cannot be started leaves nothing"
say record -o x.ridge -- no-such-program
say record -o none/x.ridge -- echo started
say record --ring 5M -o x.ridge -- echo started
say record --delay 1 -o x.ridge -- echo started
ls

echo "- the summary and the report"
"$RIDGE" run --backend xctrace --no-page -o x.ridge -- echo hello 2> summary | sed -n '1p;/^The GPU/,/^$/p'
plain < summary
"$RIDGE" query x.ridge "SELECT count(*) FROM call WHERE name = 'waitUntilCompleted'" --format csv

echo "- the bundle is kept on request"
record -q -f --keep -o x.ridge -- true
ls
"$RIDGE" import -q -f -o again.ridge x.trace && "$RIDGE" query again.ridge "SELECT count(*) FROM activity" --format csv
rm -r x.trace again.ridge

echo "- Allocations"
XCTRACE_STANDIN=allocations record -q -f --memory -o x.ridge -- true
"$RIDGE" query x.ridge "SELECT count(*), sum(bytes), sum(address != 0) FROM allocation" --format csv

echo "- Ctrl-C reaches the program, which ends as it likes"
set -m # background jobs take SIGINT only with job control, which may print when they end
"$RIDGE" record --backend xctrace -q -f -o x.ridge -- sh -c 'trap "echo interrupted; exit 5" INT; : > started; while :; do sleep 0.05; done' &
set +m
while [ ! -e started ]; do sleep 0.05; done
kill -INT $!
wait $!
echo "status $?"
"$RIDGE" query x.ridge "SELECT value FROM meta WHERE key = 'target.status'" --format csv

echo "- a time limit"
(say record -q -f --duration 2 -o x.ridge -- sleep 600) 2> /dev/null
echo "- a running process continues"
sleep 600 &
sleeper=$!
disown $sleeper # no message when it ends
say record -q -f -p $sleeper --duration 0.2 -o x.ridge
say record -q -f --attach $sleeper --duration 0.2 -o x.ridge
kill -0 $sleeper && echo runs
set -m
XCTRACE_STARTED=$PWD/attached "$RIDGE" record --backend xctrace -q -f -p $sleeper -o x.ridge &
recorder=$!
set +m
while [ ! -e attached ]; do sleep 0.05; done
kill -INT $recorder
wait $recorder
echo "status $?"
kill $sleeper
say record -p 999999999 -o y.ridge

echo "- failures of xctrace"
for failure in empty lost truncated bad-table crash schemas killed; do
    echo "$failure:"
    XCTRACE_STANDIN=$failure record -f -o "$failure.ridge" -- echo hello 2>&1 | grep -v '^cost' | plain
done
"$RIDGE" info schemas.ridge | grep -c table-
for failure in denied no-xcode license sip; do
    echo "$failure:"
    XCTRACE_STANDIN=$failure say record -o "$failure.ridge" -- sh -c 'echo ran; exit 6' 2>&1
done
echo "no xctrace:"
(PATH=/usr/bin:/bin say record -o x.ridge -f -- echo ran) 2>&1
ls
ls temporary
