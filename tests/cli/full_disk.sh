# A disk that fills up while a trace is written: one line, and nothing is left on it.
mkdir disk
if ! mount -t tmpfs -o size=64k tmpfs disk 2> /dev/null; then
    echo "SKIP a small disk cannot be mounted here (needs root)"
    exit 77
fi
trap 'umount disk' EXIT
{
    printf '{"traceEvents":[{"ph":"X","name":"x","ts":1,"dur":1,"pid":1,"tid":1}'
    awk 'BEGIN { srand(1); for (i = 0; i < 40000; i++)
        printf ",{\"ph\":\"X\",\"name\":\"%d\",\"ts\":%d,\"dur\":%d,\"pid\":1,\"tid\":1}",
            rand() * 1e9, rand() * 1e9, rand() * 1e6 }'
    printf ']}'
} > large.json
"$RIDGE" import large.json -o disk/out.ridge
echo "status $?"
ls -A disk
TMPDIR=disk "$RIDGE" info large.json
echo "status $?"
ls -A disk
