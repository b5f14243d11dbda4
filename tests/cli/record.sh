# A recorded program is what it would be alone: streams, exit status, signals; one private file comes
# out, or none and a line that says why.
export TMPDIR=$PWD/temporary
mkdir temporary
unset XDG_RUNTIME_DIR
record() { "$RIDGE" record --no-sampling "$@"; }
say() { "$@"; echo "status $?"; }

echo "- what cannot be started leaves nothing"
say record -o x.ridge -- no-such-program
say record -o x.ridge -- ./no-such-program
touch plain
say record -o x.ridge -- ./plain
say record -o x.ridge
say record -o x.ridge --
ls
echo "- nor does what cannot be written start anything"
say record -o none/x.ridge -- echo started
say record -o temporary -- echo started
say record -o plain -- echo started
say record -o - -- echo started
say record -o 'x%q' -- echo started
say record --ring 5x -- echo started
say record --ring 5M --max-size 5M -- echo started
say record --delay soon -- echo started
say record --env NAME -- echo started
say record --capture-range step -- echo started
say record --backend cpu -- echo started
say record --backend gpu -- echo started
ls

echo "- streams, arguments, status"
echo input | record -q -o x.ridge -- sh -c 'cat; echo error >&2; echo "$@"; exit 3' sh -o --force "two words"
echo "status $?"
record -q -f -o x.ridge sh -c 'exit 4' -q
echo "status $?"
"$RIDGE" query x.ridge "SELECT value FROM meta WHERE key = 'command'" --format csv
ls -l x.ridge | cut -c1-10
record -q -f -o x.ridge --env A=1 --env 'B=2 3' -- sh -c 'echo "$A $B"'
"$RIDGE" query x.ridge "SELECT count(*) FROM meta WHERE key LIKE 'environment.%'" --format csv
record -q -f -o x.ridge --env A=1 --store-env -- true
"$RIDGE" query x.ridge "SELECT key, value FROM meta WHERE key = 'environment.A'" --format csv
rm x.ridge
RANK=3 record -q -o 'run-%r-%%.ridge' -- true 2> /dev/null # a sanitized library for ranks complains
record -q -- /bin/sh -c :
ls | sed 's/[0-9][0-9]*\.ridge/N.ridge/'
rm ./*.ridge

echo "- private to the user, whatever the umask"
(
    umask 0
    TOKEN=secret record -q -f -o x.ridge -- sh -c 'ls -ld "$RIDGE_SPOOL" | cut -c1-10; ls -l "$RIDGE_SPOOL" | sed -n "2p" | cut -c1-10'
)
ls -l x.ridge | cut -c1-10
"$RIDGE" query x.ridge "SELECT count(*) FROM meta WHERE key LIKE '%TOKEN%' OR value LIKE '%secret%'" --format csv
mkdir -m 777 open
mkdir -m 700 own
chmod 777 open
TMPDIR=$PWD/open record -q -f -o x.ridge -- sh -c 'case $RIDGE_SPOOL in */open/*) echo where others may write ;; *) echo elsewhere ;; esac'
XDG_RUNTIME_DIR=$PWD/own record -q -f -o x.ridge -- sh -c 'case $RIDGE_SPOOL in */own/*) echo in the folder of the session ;; *) echo elsewhere ;; esac'
touch library.so
chmod 666 library.so
RIDGE_PROBE_LIBRARY=$PWD/library.so record -f -o x.ridge -- true 2>&1 | sed -n "s|$PWD/||; s/^lost      \(nothing; \)*//p"
chmod 644 library.so
mv library.so open
RIDGE_PROBE_LIBRARY=$PWD/open/library.so record -f -o x.ridge -- true 2>&1 | sed -n "s|$PWD/||; s/^lost      \(nothing; \)*//p"
RIDGE_PROBE_LIBRARY=$PWD/open/library.so say record -f -o x.ridge --backend cuda -- echo started 2>&1 | sed -n "s|$PWD/||; /^started/p; /^status/p; s/^lost      \(nothing; \)*//p"
ln -s elsewhere link.ridge
say record -o link.ridge -- echo started
rm -r open own link.ridge x.ridge

echo "- signals"
say record -q -o x.ridge -- sh -c 'kill -9 $$' 2> /dev/null
say record -q -f -o x.ridge -- sh -c 'kill -SEGV $$' 2> /dev/null
"$RIDGE" record --no-sampling -q -f -o x.ridge -- sh -c 'trap "echo told to end; exit 7" TERM; echo > up; while :; do sleep 0.05; done' &
recorder=$!
until [ -e up ]; do sleep 0.05; done
kill -TERM $recorder
wait $recorder
echo "status $?"
"$RIDGE" query x.ridge "SELECT value FROM meta WHERE key = 'target.status'" --format csv

echo "- a summary of three lines"
record -f -o x.ridge -- sleep 0.05 2>&1 | sed 's/[0-9][0-9.]* [mµ]*s/TIME/g; s/[0-9.]* [K]*B/SIZE/'
CUDA_INJECTION64_PATH=/other/tool.so record -f -o x.ridge -- sh -c 'echo "$CUDA_INJECTION64_PATH"' 2>&1 |
    sed -n '1p; s/^lost      \(nothing; \)*//p'
echo "- then a report"
"$RIDGE" run --no-sampling -q -f -o x.ridge -- sh -c 'echo the program; exit 5' | sed -n 's/, [0-9.]* [nµm]*s$/, TIME/; 1,3p'
echo "status ${PIPESTATUS[0]}"
ls -A temporary
