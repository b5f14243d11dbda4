# perf.data by our own reader, against perf itself where it is installed: a file, a compressed one, and a pipe.
command -v perf > /dev/null || { echo "SKIP perf is not installed"; exit 77; }
command -v cc > /dev/null || { echo "SKIP there is no C compiler"; exit 77; }
cat > busy.c <<'C'
__attribute__((noinline)) double inner(double x) { for (int i = 1; i < 200000; i++) x = x / i + i; return x; }
__attribute__((noinline)) double outer(double x) { for (int i = 0; i < 400; i++) x += inner(x); return x; }
int main(int argc, char **argv) { (void)argv; return outer(argc) < 0; }
C
cc -O1 -fno-omit-frame-pointer -Wl,--build-id -o busy busy.c
sleep 1.1 # the program is older than the recording, by its time stamp
record() { perf record -q -e cpu-clock -F 499 -g "$@" -- ./busy 2> /dev/null; }
record -o file.data || { echo "SKIP perf may not record here"; exit 77; }
perf script -i file.data 2> /dev/null | grep -q inner || { echo "SKIP perf recorded no samples"; exit 77; }
record -z -o compressed.data || cp file.data compressed.data
record -o - > pipe.data
for kind in file compressed pipe; do
    samples=$(perf script -i $kind.data 2> /dev/null | grep -c cpu-clock)
    read=$("$RIDGE" query $kind.data "SELECT count(*) FROM sample" --format csv | tail -n 1 | tr -d "\r")
    [ "$samples" = "$read" ] && echo "$kind: as many samples" || echo "$kind: perf has $samples samples, ridge $read"
    "$RIDGE" report --format csv --section samples $kind.data | awk -F, '$1 == "inner" || $2 == "inner" { found = 1 } END { print found ? "inner is named" : "inner is not named" }'
done
