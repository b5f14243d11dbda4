# What ridge exports as Parquet, DuckDB (and pyarrow and Polars, where they are installed) reads as it is in
# the trace. RIDGE_PYTHON is a Python that has them.
python=${RIDGE_PYTHON:-python3}
"$python" -c "import duckdb" 2> /dev/null || { echo "SKIP $python has no duckdb"; exit 77; }

# rank RANK LATE: three kinds of events of one rank of two, as torch.profiler writes them; times in us
rank() {
    awk -v rank="$1" -v late="$2" 'BEGIN {
        printf "{\"schemaVersion\": 1, \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": 2},\n", rank
        printf "\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100\"}],\n\"traceEvents\": [\n"
        for (i = 0; i < 4; i++) {
            now = 1000 + i * 200
            printf "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%d\", \"pid\": 42, \"tid\": 42, \"ts\": %d, \"dur\": 190},\n", i, now
            printf "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 42, \"tid\": 42, \"ts\": %d, \"dur\": 5, \"args\": {\"correlation\": %d}},\n", now + 10, i + 1
            printf "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm \\u00e9\", \"pid\": 0, \"tid\": 7, \"ts\": %d, \"dur\": %d, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": %d}}%s\n", now + 150, 100 + late, i + 1, i < 3 ? "," : ""
        }
        printf "]}\n"
    }'
}
mkdir job
rank 0 0 > job/rank0.json
rank 1 40 > job/rank1.json
"$RIDGE" merge job -q -o job.ridge

echo '-- files'
"$RIDGE" export job.ridge -o activity.parquet
"$RIDGE" export job.ridge --format parquet --table process > process.parquet
"$RIDGE" export job.ridge --format parquet -o all/
"$RIDGE" export job.ridge --format parquet -o all/
"$RIDGE" export job.ridge --format parquet -f -o all
"$RIDGE" export job/rank0.json --format parquet --partition rank -o fleet/run=1/
"$RIDGE" export job/rank1.json --format parquet --partition rank -o fleet/run=1/
find all fleet | LC_ALL=C sort
touch all/rank=0/mine
"$RIDGE" export job.ridge --format parquet -f -o all
ls all/rank=0/mine

echo '-- queries'
"$python" - << 'PYTHON'
import duckdb
def show(title, sql):
    print(title)
    for row in duckdb.sql(sql).fetchall():
        print(" ", *row)
show("the file", "SELECT rank, step, name, count(*), sum(duration) FROM 'activity.parquet' GROUP BY ALL ORDER BY ALL")
show("the folder", "SELECT rank, step, name, count(*), sum(duration) FROM read_parquet('all/**/activity.parquet', hive_partitioning = true) GROUP BY ALL ORDER BY ALL")
show("runs", "SELECT run, rank, step, class, count(*) FROM read_parquet('fleet/**/call.parquet', hive_partitioning = true) GROUP BY ALL ORDER BY ALL")
show("processes", "SELECT DISTINCT rank, world_size FROM 'process.parquet' ORDER BY ALL")
show("metadata", "SELECT DISTINCT decode(key), decode(value) FROM parquet_kv_metadata('activity.parquet') ORDER BY ALL")
PYTHON

echo '-- refused'
"$RIDGE" export job.ridge --format parquet --partition rank -o one.parquet
"$RIDGE" export job.ridge --format parquet --partition host -o all
"$RIDGE" export job.ridge --format parquet --table call -o all
"$RIDGE" export job.ridge --format chrome --partition rank -o one.json

echo '-- every cell equals that of the CSV export'
awk 'BEGIN { # more rows than a page has
    print "{\"traceEvents\": ["
    for (i = 0; i < 150000; i++)
        printf "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":1%s}%s\n", \
            i % 5000, i * 2, i % 3 ? ",\"args\":{\"bytes\":9}" : "", i < 149999 ? "," : ""
    print "]}" }' > long.json
"$RIDGE" import long.json -q -o long.ridge
check() {
    "$python" "$TESTS/cli/export_parquet.py" "$RIDGE" "$@" || echo "$@"
}
check job.ridge
check long.ridge activity
for trace in ${FIXTURES:+nsys/mock.sqlite xctrace/m1-cpu-time-profile kineto/nccl_parser_config+nccl_data.json.gz}; do
    [ -e "$FIXTURES/$trace" ] && ! "$RIDGE" info "$FIXTURES/$trace" 2>&1 | grep -q "built without" || continue
    "$RIDGE" import "$FIXTURES/$trace" -q -f -o fixture.ridge
    check fixture.ridge
done
exit 0
