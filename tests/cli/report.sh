# The report on the example trace: all of it as text, narrowed, and as Markdown and CSV; and what is
# said to options that make no sense.
cd "$TESTS/../examples" || exit 1
run() {
    echo "\$ ridge report $*"
    "$RIDGE" report "$@"
    status=$?
    [ $status = 0 ] || echo "status $status"
    echo
}
run train.ridge
run train.ridge --range forward --top 3
run train.ridge --steps 3-4 --top 2
run train.ridge --range forward --steps 3-4 --top 1 | head -n 12
run train.ridge --format csv
run train.ridge --format md --top 4
for wrong in '--steps 0-3' '--steps 13' '--steps x' '--window 5' '--window 10,20' '--window 9s,10s' '--window 2ms,1ms' \
    '--range nothing' '--range forwar' '--device 7' '--range forward --steps 1 --window 500ms,501ms' '--top 0' '--format pdf'; do
    run train.ridge $wrong 2>&1
done
