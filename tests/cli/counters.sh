# Counters of a program's kernels, with a stand-in for ncu: the program is what it would be alone, the report is
# imported, and what ncu refuses is one line.
command -v python3 > /dev/null || { echo "SKIP python3 is not installed"; exit 77; }
mkdir temporary
export TMPDIR=$PWD/temporary
say() { "$@"; echo "status $?"; }

echo "- without ncu"
mkdir empty
PATH=$PWD/empty say "$RIDGE" counters -- /bin/echo started 2>&1
export PATH=$TESTS/ncu:$PATH NCU_STANDIN_ARGS=$PWD/arguments
unset NCU_STANDIN

echo "- the counters of all kernels; streams and status of the program"
echo input | say "$RIDGE" counters -o all.ridge -- sh -c 'cat; echo error >&2; exit 3' 2>&1
cat arguments
ls temporary

echo "- findings"
"$RIDGE" report all.ridge | sed -n '/^Findings/,/^$/p'
"$RIDGE" report --section limits all.ridge | sed -n '/^Limits/,$p'
"$RIDGE" query all.ridge "SELECT launch, kernel, name, unit, value FROM metric WHERE name LIKE 'dram%'" --format csv
"$RIDGE" report --format csv --section counters all.ridge | cut -d, -f1-6

echo "- some counters of some kernels"
say "$RIDGE" counters -q -f -o all.ridge -k 'tr.*' --set speed -n 2 --base-clocks --replay application -- true > /dev/null
cat arguments
say "$RIDGE" counters -q -f -o all.ridge --set dram__bytes.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed -- true > /dev/null
cat arguments
say "$RIDGE" counters --set everything -- true
say "$RIDGE" counters -o all.ridge -- true
say "$RIDGE" counters

echo "- the counters of a trace's kernels"
cat > run.json <<'TRACE'
{"traceEvents": [
{"ph":"X","cat":"kernel","name":"transpose(float*, int)","pid":0,"tid":7,"ts":10,"dur":60,"args":{"device":0,"stream":7,"correlation":1,"grid":[64,1,1],"block":[128,1,1]}},
{"ph":"X","cat":"kernel","name":"void copy<float>(float*, float*)","pid":0,"tid":7,"ts":80,"dur":20,"args":{"device":0,"stream":7,"correlation":2,"grid":[256,1,1],"block":[128,1,1]}},
{"ph":"X","cat":"kernel","name":"void copy<float>(float*, float*)","pid":0,"tid":7,"ts":110,"dur":20,"args":{"device":0,"stream":7,"correlation":3,"grid":[256,1,1],"block":[128,1,1]}}
]}
TRACE
say "$RIDGE" counters -q -o joined.ridge run.json -- echo ran 2>&1
cat arguments
"$RIDGE" report --section limits joined.ridge | sed -n '/^Limits/,$p'
"$RIDGE" query joined.ridge "SELECT count(*) FROM activity" --format csv

echo "- what ncu refuses"
for failure in permission busy unsupported metric none; do
    NCU_STANDIN=$failure say "$RIDGE" counters -q -f -o failed.ridge -- echo ran 2>&1
done
NCU_STANDIN=partial say "$RIDGE" counters -q -f -o partial.ridge -- true 2>&1 | grep -v "^ \|^$\|^GPU\|^partial"
ls
