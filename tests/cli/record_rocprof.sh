# HIP programs are recorded with rocprofv3, here a stand-in that runs the program and copies results.
mkdir bin temporary
export TMPDIR=$PWD/temporary RESULTS=$TESTS/fuzz/seeds/rocprof_json/small.json
cat > bin/rocprofv3 << 'SCRIPT'
#!/bin/bash
[ "$1 $2 $3 $4 $6 $7 $8" = "--runtime-trace --output-format json -d -o ridge --" ] || { echo "unexpected: $*"; exit 99; }
folder=$5
shift 8
[ -z "$RESULTS" ] || { mkdir -p "$folder/host" && cp "$RESULTS" "$folder/host/ridge_results.json"; }
echo '{"rocprofiler-sdk-tool":[{"metadata":{"pid":7},"buffer_records":{}}]}' > "$folder/helper_results.json"
exec "$@"
SCRIPT
chmod +x bin/rocprofv3
PATH=$PWD/bin:$PATH

"$RIDGE" record --backend rocm -o run.ridge -- sh -c 'echo the program ran; exit 3' 2> err
echo "status $?"
grep -o "1 kernel" err
"$RIDGE" query run.ridge "SELECT name, duration, device FROM kernel"
"$RIDGE" query run.ridge "SELECT value FROM meta WHERE key = 'command'"

echo '-- a program without GPU work'
RESULTS= "$RIDGE" record --backend rocm -o cpu.ridge -- true 2> err
echo "status $?"
grep -o "rocprofv3 recorded no work of a GPU.*" err
"$RIDGE" query cpu.ridge "SELECT count(*) FROM kernel"

echo '-- what cannot be'
"$RIDGE" record --backend rocm --ring 1M -o no.ridge -- true
echo "status $?"
PATH=${PATH#*:} "$RIDGE" record --backend rocm -o no.ridge -- sh -c 'exit 4' 2>&1 | grep -v '^ridge record: .*unrecorded: rocprofv3 is not installed' | head -3
ls no.ridge temporary 2>&1
exit 0
