# A trace that goes through an export and back gives the same report, whatever it came from.
[ -n "$FIXTURES" ] && [ -d "$FIXTURES/nsys" ] || { echo "SKIP there are no fixtures"; exit 77; }
command -v python3 > /dev/null || { echo "SKIP there is no python3"; exit 77; }
for trace in nsys/mock.sqlite xctrace/m1-cpu-time-profile; do
    "$RIDGE" info "$FIXTURES/$trace" 2>&1 | grep -q "built without" || continue
    echo "SKIP this build cannot read $trace"
    exit 77
done

report() { "$RIDGE" report "$1" --format json --top 100000 -f -o "$2"; }

for trace in kineto/critical_path+cuda_event_sync_multi_stream+event_sync_trace.json.gz \
    kineto/nccl_parser_config+nccl_data.json.gz nsys/mock.sqlite \
    nsys/saxpy-mpi-cuda_nsys_perlmutter0.sqlite rocprof/matmul_result.rpd \
    xctrace/m1-compute-baseline xctrace/m1-cpu-time-profile \
    xctrace/m1-cpu-time-profile/xctrace_cpu_time_profiler_time-profile.xml \
    xplane/jax_conv_minimal_legacy.xplane.pb; do
    report "$FIXTURES/$trace" before.json || continue
    for format in chrome perfetto sqlite; do
        echo -n "$trace $format: "
        "$RIDGE" export "$FIXTURES/$trace" --format $format -f -o exported &&
            report exported after.json && python3 "$TESTS/cli/round_trip.py" before.json after.json
    done
done
exit 0
