#!/usr/bin/env bash
# Runs whole commands with one failing call each: the Nth allocation, read, write, map or open, and
# reads that end early or are short (inject.c has the list). A run passes if
#   - it exits with 0 and its output is that of an undisturbed run, or
#   - it exits with another status and a message, and leaves no output file and no temporary file.
# It must not end by a signal or hang, or leak memory where RIDGE is linked with the leak sanitizer.
# FAULTS=all tries every N, FAULTS=COUNT so many, otherwise some of them. Arguments select commands by
# name. A test is one command with one kind of fault.
cd "$(dirname "$0")/../.." || exit 1
source_folder=tests/faults
ridge=${RIDGE:-build/ridge}
case $ridge in /*) ;; *) ridge=$PWD/$ridge ;; esac
build=$(dirname "$ridge")
export LC_ALL=C NO_COLOR=1 TZ=UTC
if [ "$(uname -s)" != Linux ]; then
    echo "SKIP calls are made to fail with LD_PRELOAD, as on Linux"
    exit 77
fi
if ldd "$ridge" | grep 'lib[a-z]*san\.' | grep -qv liblsan || nm "$ridge" 2> /dev/null | grep -q __asan_init; then
    echo "SKIP LD_PRELOAD does not work with a sanitizer"
    exit 77
fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/ridge-faults.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
in=$folder/in work=$folder/work
mkdir "$in" "$work" "$folder/temporary"
export TMPDIR=$folder/temporary
cc=${CC:-cc}
defines=$(sed -n 's/^LIBRARY_DEFINES := *//p' "$build/dependencies.mk" 2> /dev/null)
libraries=$(case $defines in *RIDGE_HAVE_SQLITE*) sed -n 's/^LIBRARY_LIBS := *//p' "$build/dependencies.mk" ;; esac)
if ! $cc -O1 -shared -fPIC -o "$folder/inject.so" $source_folder/inject.c -ldl ||
    ! $cc -O1 $defines -o "$folder/sources" $source_folder/sources.c $libraries ||
    ! "$folder/sources" "$in"; then
    echo "FAILED cannot build tests/faults"
    echo "0 passed, 1 failed"
    exit 1
fi
cp tests/corpus/traces/host-busy-sampled.ridge "$in/trace.ridge"
cp tests/fixtures/graph.json.gz "$in/kineto.json.gz"
cp tests/fuzz/seeds/runs/two.jsonl "$in/runs.jsonl"
cp tests/fuzz/seeds/folded/small.txt "$in/folded.txt"
cp tests/fuzz/seeds/perf_script/small.txt "$in/perf.txt"
cp tests/fuzz/seeds/speedscope/small.json "$in/speedscope.json"
cp tests/fuzz/seeds/rocprof/kernels.csv "$in/kernels.csv"
for format in perfetto chrome; do
    "$ridge" export "$in/trace.ridge" --format $format -o "$in/trace.$format" || exit 1
done
cd "$work" || exit 1
passed=0 failed=0
leak_status=99
export LSAN_OPTIONS=exitcode=$leak_status:print_suppressions=0

# One run: its status in $code, what it printed in ../out and ../err. FAULT says what fails.
run() {
    rm -rf "$work"/*
    timeout 600 env FAULT="$1" FAULT_COUNTS=9 LD_PRELOAD="$folder/inject.so" "${command[@]}" \
        > ../out 2> ../err 9> ../counts < /dev/null
    code=$?
}

# Whether the output is the undisturbed run's. A trace may be compressed differently when memory is
# short: then its contents are compared.
same_output() {
    cmp -s ../out ../out.expected || return 1
    [ ! -e ../file.expected ] && [ ! -e file ] && return 0
    cmp -s file ../file.expected && return 0
    [ "${command[1]}" = import ] || return 1
    "$ridge" export --format sqlite -f -o ../contents file &&
        "$ridge" export --format sqlite -f -o ../contents.expected ../file.expected &&
        cmp -s ../contents ../contents.expected
}

complain() {
    echo "FAILED $name with FAULT=$1: $2"
    sed 's/^/    /' ../err | head -3
    bad=1
}

check() {
    if [ $code = 127 ] && grep -q 'out of memory' ../err; then
        rm -rf "$work"/* # the dynamic loader ended the program
    elif [ $code = $leak_status ]; then
        complain "$1" "leaked memory"
        grep -m 8 '^ *#[0-9].*src/' ../err | sed 's/^/    /'
        rm -rf "$work"/*
    elif [ $code -ge 124 ]; then
        complain "$1" "ended with status $code"
    elif [ $code = 0 ]; then
        same_output || complain "$1" "status 0 and other output"
    else
        [ -s ../err ] || complain "$1" "status $code and no message"
        [ -z "$(ls -A)" ] || complain "$1" "status $code and left $(ls -A | head -1)"
    fi
    [ -z "$(ls -A "$TMPDIR")" ] || complain "$1" "left a temporary file"
    rm -rf "${TMPDIR:?}"/*
}

# How many runs of one kind of fault: all, or a few that are spread evenly.
stride() {
    local calls=$1 runs=3
    [ "$2" = memory ] && runs=12
    case ${FAULTS:-} in *[0-9]*) runs=$FAULTS ;; esac
    if [ "${FAULTS:-}" = all ] || [ "$calls" -le $runs ]; then
        echo 1
    else
        echo $(((calls + runs - 1) / runs))
    fi
}

try() {
    local calls kind nth
    name=$1
    shift
    command=("$ridge" "$@")
    run none
    if [ $code != 0 ]; then
        echo "FAILED $name does not run"
        cat ../err
        failed=$((failed + 1))
        return
    fi
    rm -f ../file.expected
    [ ! -e file ] || mv file ../file.expected
    mv ../out ../out.expected
    mv ../counts ../calls
    while read -r kind calls; do
        bad=0
        for ((nth = 1; nth <= calls; nth += $(stride "$calls" "$kind"))); do
            run "$kind:$nth"
            check "$kind:$nth"
        done
        passed=$((passed + 1 - bad))
        failed=$((failed + bad))
    done < ../calls
}

selected() {
    local name=$1 word
    shift
    [ $# = 0 ] && return 0
    for word in "$@"; do
        [[ $name == *$word* ]] && return 0
    done
    return 1
}

words=("$@")
while read -r name line; do
    selected "$name" "${words[@]}" || continue
    case $line in *.sqlite* | *.rpd* | query*) [ -n "$libraries" ] || continue ;; esac
    eval "arguments=($line)"
    try "$name" "${arguments[@]}"
done << 'COMMANDS'
report-text report "$in/trace.ridge"
report-markdown report --format md "$in/trace.ridge"
report-json report --format json "$in/trace.ridge"
report-csv report --format csv "$in/trace.ridge"
report-html report --format html -o file "$in/trace.ridge"
report-imported report "$in/kineto.json.gz"
whatif whatif --all "$in/trace.ridge"
diff diff "$in/trace.ridge" "$in/kineto.json.gz"
diff-json diff --json --predicted "$in/trace.ridge" "$in/trace.ridge"
check-history check --history "$in/runs.jsonl"
info info "$in/trace.ridge"
info-json info --json "$in/trace.ridge"
query query "$in/trace.ridge" "SELECT name, count(*), sum(duration) FROM kernel GROUP BY name ORDER BY 3 DESC"
query-file query "$in/trace.ridge" -o file "SELECT * FROM launch ORDER BY start LIMIT 50"
import-ridge import -q "$in/trace.ridge" -o file
import-several import -q "$in/trace.ridge" "$in/xplane.pb" -o file
import-kineto import -q "$in/kineto.json.gz" -o file
import-chrome import -q "$in/trace.chrome" -o file
import-perfetto import -q "$in/trace.perfetto" -o file
import-nsys import -q "$in/nsys.sqlite" -o file
import-rpd import -q "$in/rpd.rpd" -o file
import-xplane import -q "$in/xplane.pb" -o file
import-xctrace import -q "$in/xctrace.xml" -o file
import-folded import -q "$in/folded.txt" -o file
import-perf-script import -q "$in/perf.txt" -o file
import-speedscope import -q "$in/speedscope.json" -o file
import-rocprof import -q --skip-invalid "$in/kernels.csv" -o file
export-chrome export "$in/trace.ridge" --format chrome -o file
export-perfetto export "$in/trace.ridge" --format perfetto -o file
export-sqlite export "$in/trace.ridge" --format sqlite -o file
export-parquet export "$in/trace.ridge" --format parquet -o file
export-parquet-folder export "$in/trace.ridge" --format parquet -o folder/
export-csv export "$in/trace.ridge" --format csv -o file
COMMANDS
echo "$passed passed, $failed failed"
[ $failed = 0 ]
