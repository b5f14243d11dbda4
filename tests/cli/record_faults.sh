# Whatever happens to the recorder or its disk, the program goes on, and what was written is readable.
export TMPDIR=$PWD/temporary
mkdir temporary
unset XDG_RUNTIME_DIR
. "$TESTS/patient.sh"
trust() { "$RIDGE" info "$1" | sed -n '/^Data quality/,$p' | sed 's/[0-9][0-9,]*$/N/'; }

echo "- a recorder that is killed"
"$RIDGE" record --no-sampling -q -o killed.ridge -- sh -c 'until [ -e go ]; do sleep 0.05; done; echo > finished' &
recorder=$!
has_process() { "$RIDGE" query killed.ridge "SELECT count(*) > 0 FROM process" --format csv | grep -q '^1'; }
until_true has_process
{ kill -9 $recorder; wait $recorder; } 2> /dev/null # the shell reports the killed job here
echo "status $?"
echo > go
until_true [ -e finished ]
ls finished
trust killed.ridge
"$RIDGE" query killed.ridge "SELECT count(*) > 0 FROM process" --format csv
echo "- what it left behind goes with the next"
ls temporary | wc -l
"$RIDGE" record --no-sampling -q -o next.ridge -- true
ls temporary | wc -l

echo "- a file that may not grow"
(
    ulimit -f 1
    "$RIDGE" record --no-sampling -o short.ridge -- sh -c 'i=0; while [ $i -lt 40 ]; do i=$((i + 1)); sleep 0.03; done; exit 5' 2> said
    echo "status $?"
)
grep -c 'incomplete: cannot write: File too large' said
trust short.ridge | head -n 2

echo "- a full disk"
"$RIDGE" record --no-sampling -o /dev/full -- sh -c 'echo the program; exit 5' 2> said
echo "status $?"
grep -c 'incomplete: cannot write: No space left on device' said
echo "- limits that keep ridge from recording do not keep the program from running"
# Where ridge itself does not start (--version), nothing is expected. Every other limit gives what
# the program prints and its status.
printf '1\nstatus 7\n' > expected
under_limit() {
    # bash redirects before the limit: it needs descriptors for that, too. It reports how a program with
    # sanitizers dies that has too little memory to start.
    {
        (
            exec > /dev/null 2>&1
            ulimit "$1" "$2"
            "$RIDGE" --version
        )
    } 2> /dev/null || return
    (
        exec > printed 2> "$3"
        ulimit "$1" "$2"
        "$RIDGE" record -f -o limited.ridge --env GIVEN=1 -- sh -c 'echo "$GIVEN"; exit 7'
        echo "status $?"
    )
    cmp -s printed expected || echo "ulimit $1 $2: not as it would run alone"
    ! grep 'recorder crashed' "$3"
}
for limit in 5 6 7 8 9 10 11 12 14 16 20; do under_limit -n $limit "said-n$limit"; done
for limit in 10000 15000 20000 30000 40000 50000 60000 80000; do under_limit -v $limit "said-v$limit"; done
grep -h unrecorded said-n* | sort -u
"$RIDGE" record -f -o limited.ridge -- true 2>&1 | grep -q 'CPU sampling is not available' ||
    grep -h 'CPU sampling is not available' said-n* | grep -v 'Too many open files'
echo "- what the probe had to drop is counted"
# 50,000 ranges in files that may not grow; one that does not fit is dropped once or twice.
if ${CC:-cc} -std=c11 ${SAN:+-fsanitize=$SAN} -D_DEFAULT_SOURCE -D_POSIX_C_SOURCE=200809L -I"$TESTS/../src" -I"$TESTS/probe" \
    -o target "$TESTS/probe/target.c" "$TESTS/probe/nvtx_copy.c" "$BUILD/probe-parts.a" -ldl -lm -pthread; then
    "$RIDGE" record --no-sampling -o dropped.ridge -- ./target short_files 50000 2> said
    lost=$(sed -n 's/^lost *\([0-9,]*\) events.*/\1/p' said | tr -d ,)
    kept=$("$RIDGE" query dropped.ridge "SELECT count(*) FROM range" --format csv | tail -n 1 | tr -d '\r')
    [ "$kept" -gt 0 ] && [ "$((lost + kept))" -ge 50000 ] && [ "$((lost + kept))" -le 100001 ] || echo "$lost lost, $kept kept"
    [ "$("$RIDGE" info dropped.ridge | sed -n 's/^ *dropped events: //p' | tr -d ,)" = "$lost" ] || "$RIDGE" info dropped.ridge
fi
echo "- without an executable program there is nothing to run"
(
    ulimit -n 5
    "$RIDGE" record -q -f -o limited.ridge -- no-such-program
    echo "status $?"
)
echo "- a thousand processes"
"$RIDGE" record --no-sampling -q -o many.ridge -- sh -c 'i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i + 1)); done; exit 6'
echo "status $?"
trust many.ridge
echo "- a process that stays behind is let go"
"$RIDGE" record --no-sampling -o left.ridge -- sh -c 'sleep 600 2> /dev/null & echo $! > pid' 2>&1 > /dev/null | sed -n 's/^lost      \(nothing; \)*//p'
kill "$(cat pid)"
echo "- limits"
"$RIDGE" record --no-sampling -o most.ridge --max-size 2K -- sh -c 'i=0; while [ $i -lt 100 ]; do i=$((i + 1)); sleep 0.02; done' 2>&1 | sed -n 's/size of .* (/size of SIZE (/; s/^lost      \(nothing; \)*//p'
"$RIDGE" record --no-sampling -o late.ridge --delay 100 -- true 2>&1 | sed -n 's/^lost      \(nothing; \)*//p'
"$RIDGE" query late.ridge 'SELECT count(*) FROM counter' --format csv
trust late.ridge
ls -A temporary
