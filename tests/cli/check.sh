# The gate: exit statuses, baselines, printed metrics, histories. The program prints times that do not vary
# where the answer is compared; how often a disturbed run is repeated depends on the machine and is left out.
cat > program <<'END'
#!/bin/sh
n=$(cat counter 2> /dev/null || echo 0)
echo $((n + 1)) > counter
[ "$2" = noisy ] && set -- $(($1 + n % 7 * 40))
echo "warming up: time 1 ns"
echo "time $1 ns"
END
chmod +x program
run() {
    echo "\$ ridge check $*"
    "$RIDGE" check "$@" > printed 2>&1
    status=$?
    if [ "$quiet" ]; then
        head -n 1 printed | cut -d: -f1
    else
        awk '/^[0-9]+ runs before/ { skip = 1 } /^$/ { skip = 0 } !skip' printed | grep -v '"disturbed_runs"\|"warning"'
    fi
    echo "status $status"
    echo
}
metric='time=time ([0-9]+)'
run -m "$metric" --versus './program 100000' -- ./program 100000
run -m "$metric" --versus './program 100000' -- ./program 105000
run -m "$metric" --versus './program 100000' -- ./program 90000
run -m "+$metric" --versus './program 100000' -- ./program 90000
run -m "$metric" --save runs.jsonl --runs 8 -- ./program 100000
run -m "$metric" --baseline runs.jsonl --gate 10% -- ./program 105000
run -m "$metric" --baseline runs.jsonl --gate 10% --json -- ./program 105000
run -m "$metric" --versus './program 100000' --format md -- ./program 105000
quiet=1
run -m "$metric" --versus './program 1000 noisy' --runs 8 -- ./program 1000 noisy
run -m "$metric" --versus false -- true
run -m "$metric" --baseline runs.jsonl -- true
run -m "$metric" --baseline nothing.jsonl -- ./program 1
quiet=
for i in $(seq 40); do
    value=$((1000 + i % 3 + (i > 20) * 50))
    echo "{\"schema\":\"ridge.check\",\"version\":1,\"check\":$((1700000000 + i * 3600)),\"label\":\"c$i\",\"machine\":\"\",\"pace\":0,\"metrics\":{},\"printed\":{\"time\":$value}}"
done > history.jsonl
run --history history.jsonl
run --history history.jsonl --json
echo '{"some": "thing"}' > other.jsonl
for wrong in '--history other.jsonl' '--history missing.jsonl' '' '--gate x --versus true -- true' '--metric nothing --versus true -- true' \
    '--metric a=( --versus true -- true' '--budget x --versus true -- true' '-- true' '--runs 99 --versus true -- true' '--versus true --baseline x -- true'; do
    run $wrong
done
