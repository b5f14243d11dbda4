# --capture-range nvtx:NAME without a GPU: what lies outside the ranges is not in the trace.
[ -z "${SAN:-}" ] || { echo "SKIP a probe with a sanitizer needs a program with it" && exit 77; }
export TMPDIR=$PWD/temporary
mkdir temporary
unset XDG_RUNTIME_DIR
cat > steps.c << 'C'
#include "nvtx_copy.h"
#include <time.h>
static void work(double seconds) {
    for (clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC); clock() < end;)
        ;
}
int main(void) {
    nvtx_begin();
    for (int i = 0; i < 3; i++) {
        push("setup"), mark("outside"), work(0.04), pop();
        push("step"), push("inner"), mark("inside"), work(0.08), pop(), pop();
    }
    work(0.04);
}
C
${CC:-cc} -std=c11 -D_DEFAULT_SOURCE -I "$TESTS/../src" -I "$TESTS/probe" -o steps steps.c "$TESTS/probe/nvtx_copy.c" -ldl ||
    exit 1
ask() { "$RIDGE" query "$1" "$2" --format csv | tail -n 1 | tr -d '\r'; }
missing() { sed -n 's/^lost      \(nothing; \)*//p' said | tr ';' '\n' | grep -o 'nothing was captured.*'; }

within="EXISTS (SELECT 1 FROM range WHERE name = 'step' AND start - 1000000 <= %s AND start + duration + 1000000 >= %s)"
outside() { printf "NOT $within" "$1" "$2"; }
# The thread may lose its processor between the start of the capture and that of the range, though not each time.
capture() {
    "$RIDGE" record -f -o x.ridge --capture-range nvtx:step -- ./steps 2> said
    samples=$(ask x.ridge "SELECT count(*) FROM sample WHERE $(outside time time)")
    states=$(ask x.ridge "SELECT count(*) FROM state WHERE $(outside start 'start + duration')")
    [ "$samples $states" = "0 0" ]
}
. "$TESTS/patient.sh"
patient capture
missing
"$RIDGE" query x.ridge "SELECT name, count(*) FROM range WHERE name NOT LIKE 'ridge:%' GROUP BY name" --format csv
"$RIDGE" query x.ridge "SELECT name, count(*) FROM mark GROUP BY name" --format csv
echo "samples outside: $samples"
echo "states outside: $states"
# about 240 samples; none where the machine does not allow sampling
inside=$(ask x.ridge 'SELECT count(*) FROM sample')
"$RIDGE" record -o all.ridge -- ./steps 2> /dev/null
all=$(ask all.ridge 'SELECT count(*) FROM sample')
[ "$all" = 0 ] || [ "$inside" -gt 0 ] && echo "samples inside"
"$RIDGE" report x.ridge | grep -c 'paused for'
echo "- never entered"
"$RIDGE" record -f -o x.ridge --backend cpu --capture-range nvtx:nowhere -- ./steps 2> said
missing
ask x.ridge 'SELECT (SELECT count(*) FROM sample) + (SELECT count(*) FROM state) + (SELECT count(*) FROM mark)'
"$RIDGE" record --no-sampling -f -o x.ridge --capture-range cudaProfilerApi -- ./steps 2> said
missing
RIDGE_PROBE_LIBRARY=/nowhere "$RIDGE" record --no-sampling -f -o x.ridge --capture-range nvtx:step -- ./steps 2> said
missing
"$RIDGE" record -f -o x.ridge --backend cpu --capture-range cudaProfilerApi -- ./steps
echo "status $?"
