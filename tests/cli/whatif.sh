# Predictions on the example trace: unchanged, one change, several, all, narrowed, as Markdown and JSON;
# and what is said to options that make no sense.
cd "$TESTS/../examples" || exit 1
run() {
    echo "\$ ridge whatif $*"
    "$RIDGE" whatif "$@"
    status=$?
    [ $status = 0 ] || echo "status $status"
    echo
}
run train.ridge
run train.ridge --graph --steps steady
run train.ridge --no-sync --faster gemm=2x --steps steady
run train.ridge --no-compile
run train.ridge --fuse --format md
run train.ridge --all --steps steady
"$RIDGE" whatif train.ridge --graph --json | grep -c '"applies"'
for wrong in '--faster gemm' '--faster gemm=0' '--faster =2x' '--batch 1' '--all --graph' '--graph=x' \
    '--steps 0-3' '--fusion' '--format csv'; do
    run train.ridge $wrong 2>&1
done
