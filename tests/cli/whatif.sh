# Predictions on the example trace: unchanged, one change, several, all, narrowed, as Markdown and JSON;
# what is said to names that nothing has, to a trace that is cut, and to options that make no sense.
scratch=$PWD
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
run train.ridge --range data --prefetch
run train.ridge --no-sync=nothing --graph --faster host=0.5x --steps steady
for unknown in --no-alloc --fuse --no-host; do
    run train.ridge $unknown=nothing
done
head -c 60000 train.ridge >"$scratch/cut.ridge"
(cd "$scratch" && "$RIDGE" whatif cut.ridge --steps all | tail -n +2)
run train.ridge --range forward --steps 3-4 --faster host=2x
"$RIDGE" whatif train.ridge --graph --json | grep -c '"applies"'
for wrong in '--faster gemm' '--faster gemm=0' '--faster =2x' '--batch 1' '--all --graph' '--graph=x' \
    '--steps 0-3' '--fusion' '--format csv' '--batch 2 --batch 4' '--faster gemm=2x --faster gemm=3x' \
    '--graph --graph' '--no-sync=a --no-sync=a'; do
    run train.ridge $wrong 2>&1
done
