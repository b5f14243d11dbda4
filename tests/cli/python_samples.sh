# Python functions and lines of CPU samples and of blocked threads, read from the memory of every
# Python that is found: programs that spend their time in known lines.
[ "$(uname -s)" = Linux ] || { echo "SKIP perf events need Linux" && exit 77; }
"$RIDGE" record -qf -o t.ridge --sample-rate 999 -- true 2> note
grep -q "CPU sampling is not available" note && { echo "SKIP perf events cannot be used here" && exit 77; }
[ "$(cat /proc/sys/kernel/yama/ptrace_scope 2> /dev/null || echo 0)" -lt 2 ] || { echo "SKIP ptrace is restricted" && exit 77; }
"$RIDGE" query "$TESTS/fixtures/python.ridge" "SELECT 1" > /dev/null 2>&1 || { echo "SKIP ridge is built without SQLite" && exit 77; }

cat > busy.py << 'EOF'
import os, threading, time; patience = int(os.environ["PATIENCE"])
def spin(until):
    while time.process_time() < until * patience: pass    # line 3

class Näme:
    def recursive(self, depth, until):
        if depth:
            return self.recursive(depth - 1, until)
        spin(until)

def generator(until):
    yield spin(until)

def thread():
    spin(0.6)
    time.sleep(0.3 * patience)                 # line 16

Näme().recursive(20, 0.2)
for _ in generator(0.4): pass
other = threading.Thread(target=thread)
other.start()
other.join()
sorted([1, 2], key=lambda x: spin(0.8) or x)
EOF
# check PYTHON: what is found is in the file found. Of the samples that have functions of the program, eight of ten are in its
# loop; on a busy machine others are read too late to have any. The stacks of blocked threads need rights that an
# ordinary user does not have.
check() {
    "$RIDGE" record -qf -o t.ridge --backend cpu -- "$1" busy.py || { echo "fails" > found && return 1; }
    "$RIDGE" query t.ridge --format csv "WITH RECURSIVE up(sample, stack) AS (SELECT id, stack FROM sample
        UNION SELECT sample, parent FROM up JOIN stack s ON s.id = up.stack WHERE parent > 0)
, over(stack) AS (SELECT stack FROM state WHERE duration > 250000000
        UNION SELECT parent FROM over JOIN stack s ON s.id = over.stack WHERE parent > 0)
, ours(sample, spins) AS (SELECT sample, max(s.function = 'spin (busy.py)' AND s.line = 3) FROM up JOIN stack s ON s.id = up.stack
            WHERE s.function LIKE '%(busy.py)' GROUP BY sample)
        SELECT (SELECT count(*) >= 5 AND 10 * sum(spins) >= 8 * count(*) FROM ours),
        (SELECT count(*) > 0 FROM stack WHERE function LIKE '%recursive (busy.py)' AND line = 8),
        (SELECT count(*) > 0 FROM stack WHERE function = 'generator (busy.py)' AND line = 12),
        (SELECT count(*) > 0 FROM stack WHERE function LIKE '%<lambda> (busy.py)'),
        (SELECT count(*) > 0 FROM over JOIN stack s ON s.id = over.stack WHERE s.function = 'thread (busy.py)' AND s.line = 16)
            OR (SELECT count(*) = 0 FROM state WHERE stack > 0)" | tail -n 1 | tr -d '\r' > found
    [ "$(cat found)" = 1,1,1,1,1 ]
}
. "$TESTS/patient.sh"
for python in python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 "$HOME"/.pyenv/versions/3.*/bin/python3; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2> /dev/null || continue
    patient check "$python" || echo "$python: $(cat found)"
done
echo "every Python's functions and lines are found"
