# The line of every launch and the turns of the program's loop, in every Python that is found: programs
# with known lines (tests/fixtures/lines.py) on the fake CUDA driver of tests/probe.
[ -z "${SAN:-}" ] || { echo "SKIP a probe with a sanitizer needs a program with it" && exit 77; }
[ "$(uname -s)" = Linux ] || { echo "SKIP the fake CUDA driver needs Linux" && exit 77; }
command -v python3 > /dev/null || { echo "SKIP there is no python3" && exit 77; }
python3 -c 'import ctypes' 2> /dev/null || { echo "SKIP python3 has no ctypes" && exit 77; }
"$RIDGE" query "$TESTS/fixtures/python.ridge" "SELECT 1" > /dev/null 2>&1 || { echo "SKIP ridge is built without SQLite" && exit 77; }
. "$TESTS/patient.sh"
mkdir lib
${CC:-cc} -std=c11 -O1 -D_DEFAULT_SOURCE -D_POSIX_C_SOURCE=200809L -I"$TESTS/../src" -I"$TESTS/probe" -fPIC -shared \
    -Wl,-soname,libcuda.so.1 -o lib/libcuda.so.1 "$TESTS/probe/standin_driver.c" "$TESTS/probe/standin_cupti.c" -ldl -pthread ||
    { echo "SKIP the fake CUDA driver does not compile" && exit 77; }

record() { RIDGE_CUPTI=$PWD/lib/libcuda.so.1 LD_LIBRARY_PATH=$PWD/lib "$RIDGE" record --no-sampling -qf "$@"; }
# check PYTHON NAME: prints what is wrong
check() {
    turns=$(record -o t.ridge -- "$1" "$TESTS/fixtures/lines.py" "$2") || { echo "$1 $2 fails" && return; }
    wrong=$("$RIDGE" query t.ridge "SELECT count(*) FROM kernel k LEFT JOIN call c ON c.id = k.launch
        LEFT JOIN stack s ON s.id = c.stack WHERE s.line IS NOT k.grid_x" --format csv | tail -n 1 | tr -d '\r')
    [ "$wrong" = 0 ] || echo "$1 $2: $wrong launches have another line"
    steps=$("$RIDGE" report t.ridge --section steps | sed -n 's/^Steps  \([0-9]*\) steps, found by the iterations of a loop.*/\1/p')
    [ "$steps" = "$turns" ] || echo "$1 $2: '$steps' steps, not $turns"
}

programs="plain epochs accumulate accumulate_every_fourth log function generation single generator thread
    several_lines exceptions recursion coroutines comprehension"
for name in $programs; do check python3 $name; done
for python in python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 "$HOME"/.pyenv/versions/3.*/bin/python3; do
    "$python" -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 8))' 2> /dev/null || continue
    for name in plain exceptions recursion; do check "$python" $name; done
done
echo "every launch has its line"

echo "- another loop"
record -o t.ridge -- python3 "$TESTS/fixtures/lines.py" accumulate > /dev/null
header=$(grep -n 'for micro' "$TESTS/fixtures/lines.py" | cut -d: -f1)
"$RIDGE" report t.ridge --section steps --steps "lines.py:$header" | sed -n 's/, found.*//p'
"$RIDGE" report t.ridge --steps lines.py:1 2>&1 | head -n 1
echo "- the lines"
"$RIDGE" report t.ridge --steps all --by line --format csv | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin):
    print(row["function"], row["source"], row["calls"], row["activities"])' | sort
echo "- a thread of autograd's"
# A thread without Python launches while the main thread waits for it inside torch/autograd.
mkdir -p torch/autograd
cat > engine.c << 'EOF'
#include <pthread.h>
extern int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int pthread_setname_np(pthread_t, const char *);
static void *kernel, **arguments;
static void *work(void *launches) {
    pthread_setname_np(pthread_self(), "pt_autograd_0");
    for (long i = 0; i < (long)launches; i++)
        cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, 0, arguments, 0);
    return 0;
}
void run_backward(void *of, void **with, long launches);
void run_backward(void *of, void **with, long launches) {
    pthread_t thread;
    kernel = of, arguments = with;
    pthread_create(&thread, 0, work, (void *)launches);
    pthread_join(thread, 0);
}
EOF
${CC:-cc} -fPIC -shared -o lib/engine.so engine.c lib/libcuda.so.1 -pthread
cat > torch/autograd/graph.py << 'EOF'
def run(engine, *arguments):
    engine.run_backward(*arguments)
EOF
cat > backward.py << 'EOF'
import ctypes, sys
sys.path[:0] = ["torch/autograd", sys.argv[1]]
import graph, lines
engine = ctypes.CDLL("engine.so")
for step in range(6):
    lines.go(lines.kernel, 1, *lines.rest)
    graph.run(engine, lines.kernel, lines.arguments, ctypes.c_long(5))
EOF
record -o t.ridge -- python3 backward.py "$TESTS/fixtures"
"$RIDGE" report t.ridge --steps all --by line --format csv | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin):
    if row["activities"] != "0":
        print(row["line"], row["source"], row["activities"])' | sort
"$RIDGE" report t.ridge --section steps | sed -n 's/, found.*//p'
echo "- the forward pass of what they launch, by sequence numbers of emit_nvtx()"
cat > sequence.c << 'EOF'
#include "nvtx_copy.h"
#include <pthread.h>
#include <stdio.h>
extern int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int pthread_setname_np(pthread_t, const char *);
static void *kernel, **arguments;
static void run(const char *name, int number, int launches) {
    char text[64];
    snprintf(text, sizeof text, "%s, seq = %d", name, number);
    push(text);
    for (int i = 0; i < launches; i++)
        cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, 0, arguments, 0);
    pop();
}
void forward(void *of, void **with, int number);
void forward(void *of, void **with, int number) {
    kernel = of, arguments = with;
    nvtx_begin();
    run("aten::addmm", number, 1);
}
static void *work(void *last) {
    pthread_setname_np(pthread_self(), "pt_autograd_0");
    for (int i = (int)(long)last; i >= 0; i--)
        run("AddmmBackward0", i, 2);
    return 0;
}
void run_backward(long last);
void run_backward(long last) {
    pthread_t thread;
    pthread_create(&thread, 0, work, (void *)last);
    pthread_join(thread, 0);
}
EOF
${CC:-cc} -I"$TESTS/probe" -I"$TESTS/../src" -D_DEFAULT_SOURCE -fPIC -shared -o lib/sequence.so sequence.c "$TESTS/probe/nvtx_copy.c" lib/libcuda.so.1 -ldl -pthread
cat > forward.py << 'EOF'
import ctypes, sys
sys.path[:0] = ["torch/autograd", sys.argv[1]]
import graph, lines
engine = ctypes.CDLL("sequence.so")
for step in range(4):
    engine.forward(lines.kernel, lines.arguments, 2 * step)
    engine.forward(lines.kernel, lines.arguments, 2 * step + 1)
graph.run(engine, ctypes.c_long(7))
EOF
record -o t.ridge -- python3 forward.py "$TESTS/fixtures"
by_line() {
    "$RIDGE" report t.ridge --steps all --by line --format csv | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin):
    if row["device_ns"] != "0" or row[sys.argv[1]]:
        print(row["line"], row["source"], row["activities"], row[sys.argv[1]])' "$1" | sort
}
by_line backward_ns
echo "- a CUDA graph: the line that launches it and those that captured its kernels"
cat > captured.py << 'EOF'
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import lines
captured = (1, 1, 32, 1, 1, 0, ctypes.c_void_p(30), lines.arguments, None)
for layer in range(3):
    lines.go(lines.kernel, 1, *captured)
lines.go(lines.kernel, 1, *captured)
graph = ctypes.c_void_p()
lines.cuda.cuGraphInstantiateWithFlags(ctypes.byref(graph), None, ctypes.c_ulonglong(0))
for step in range(5):
    lines.cuda.cuGraphLaunch(graph, None)
    lines.wait()
EOF
record --graph node -o t.ridge -- python3 captured.py "$TESTS/fixtures"
by_line captured_ns
record -o t.ridge -- python3 captured.py "$TESTS/fixtures"
"$RIDGE" query t.ridge "SELECT name, count(*) FROM kernel GROUP BY 1" --format csv
echo "- a recording that ends within an iteration"
cat > killed.py << 'EOF'
import os, sys, time
sys.path.insert(0, sys.argv[1])
import lines
for step in range(8):
    lines.go(lines.kernel, 1, *lines.rest)
    if step == 7:
        time.sleep(0.4 * int(os.environ["PATIENCE"]))
        os.kill(os.getpid(), 9)
    lines.go(lines.kernel, 1, *lines.rest)
EOF
seven_steps() {
    { record -o t.ridge -- python3 killed.py "$TESTS/fixtures"; } 2> /dev/null
    "$RIDGE" report t.ridge --section steps | grep -q '^Steps  7 steps'
}
patient seven_steps
"$RIDGE" report t.ridge --section steps | grep -E '^Steps|within' | sed 's/, found.*//'
echo "- attached to a running program"
cat > running.py << 'EOF'
import os, sys, time
sys.path.insert(0, sys.argv[1])
import lines
turns = 0
open("running", "w").close()
while not os.path.exists("stop"):
    lines.go(lines.kernel, lines.line(), *lines.rest)
    time.sleep(0.001)
    turns += 1
print("right" if lines.counter.value and turns > 10 else "wrong")
EOF
RIDGE_CUPTI=$PWD/lib/libcuda.so.1 LD_LIBRARY_PATH=$PWD/lib python3 running.py "$TESTS/fixtures" &
program=$!
until_true [ -e running ]
scope=$(cat /proc/sys/kernel/yama/ptrace_scope 2> /dev/null || echo 0)
attach() {
    record -p $program --duration "$((500 * PATIENCE))ms" -o t.ridge
    "$RIDGE" query t.ridge "SELECT count(*) > 0, count(*) - count(s.line = k.grid_x OR NULL) FROM kernel k
        JOIN call c ON c.id = k.launch JOIN stack s ON s.id = c.stack" --format csv | tail -n 1 > attached
    grep -q '^1' attached
}
for i in 1 2 3; do
    [ "$scope" = 0 ] || [ "$(id -u)" = 0 ] || { echo 1,0 && continue; } # ptrace is restricted
    patient attach
    cat attached
done
touch stop
wait $program
echo "- without them"
record --python-lines off -o t.ridge -- python3 "$TESTS/fixtures/lines.py" plain > /dev/null
"$RIDGE" query t.ridge "SELECT count(*) FROM call WHERE stack IS NOT NULL" --format csv | tail -n 1
record --python-lines waits -o t.ridge -- python3 "$TESTS/fixtures/lines.py" plain > /dev/null
"$RIDGE" query t.ridge "SELECT class, count(*) FROM call WHERE stack IS NOT NULL GROUP BY class" --format csv
