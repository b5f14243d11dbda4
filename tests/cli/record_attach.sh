# ridge record -p: a running process is recorded and then continues as if nothing had happened.
[ -d /proc/self/task ] || { echo "SKIP there is no /proc" && exit 77; }
cat > sums.c <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile sig_atomic_t done;
static void stop(int number) { done = number; }
static unsigned long sums[2];
static void *add(void *sum) {
    while (!done) {
        for (unsigned i = 0; i < 100000; i++)
            *(unsigned long *)sum += i & 1;
        usleep(1000);
    }
    return NULL;
}
static int descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}
int main(void) {
    pthread_t thread;
    int before = descriptors();
    signal(SIGUSR1, stop);
    pthread_create(&thread, NULL, add, &sums[0]);
    add(&sums[1]);
    pthread_join(thread, NULL);
    if (descriptors() != before)
        puts("a descriptor was left behind");
    puts(sums[0] % 50000 == 0 && sums[1] % 50000 == 0 ? "right" : "wrong");
    return 7;
}
END
cc -O1 -pthread -o sums sums.c || exit 1
./sums > printed &
pid=$!
"$RIDGE" record -q -p $pid --duration 50ms -f -o first.ridge 2> message || {
    kill -USR1 $pid
    grep -q 'nothing of process' message && echo "SKIP perf events are not available" && exit 77
}
cat message
for i in $(seq "${CYCLES:-4}"); do
    "$RIDGE" record -q -p $pid --duration 20ms -f -o cycle.ridge || echo "cycle $i fails"
done
"$RIDGE" record -p $pid -f -o last.ridge 2> message &
recorder=$!
# until both threads were seen blocked
. "$TESTS/patient.sh"
blocked_threads() { "$RIDGE" query last.ridge "SELECT count(DISTINCT thread) FROM state WHERE state = 'blocked'" --format csv | grep -q '^2'; }
until_true blocked_threads
kill -USR1 $pid
wait $pid
echo "status $?"
cat printed
wait $recorder
echo "recorder $?"
sed -n 's/^lost  *\([a-z]*\).*/lost \1/p' message
ask() {
    "$RIDGE" query last.ridge "$1" --format csv | sed 1d
}
echo "threads: $(ask 'SELECT count(DISTINCT thread) FROM state')"
echo "blocked while asleep: $(ask "SELECT sum(duration) > 0 FROM state WHERE state = 'blocked'")"
echo "sums: $("$RIDGE" report last.ridge --json | tr -d ' \n' | grep -o '"threads":\[.*\],"waits"' | tr '{' '\n' | awk -F'[:,]' '
    /wall_ns/ { for (i = 1; i < NF; i++) v[$i] = $(i + 1)
        sum = v["\"running_ns\""] + v["\"ready_ns\""] + v["\"blocked_ns\""] + v["\"unknown_ns\""]
        print sum == v["\"wall_ns\""] ? "equal" : "differ" }' | sort -u)"
"$RIDGE" record -p 999999999; echo "status $?"
"$RIDGE" record -p 12x; echo "status $?"
"$RIDGE" record -p 1 true; echo "status $?"
