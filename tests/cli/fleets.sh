# Every query of docs/fleets.md, run by DuckDB on the exported traces of two runs. RIDGE_PYTHON is a Python that
# has DuckDB.
python=${RIDGE_PYTHON:-python3}
"$python" -c "import duckdb" 2> /dev/null || { echo "SKIP $python has no duckdb"; exit 77; }

# rank RANK KERNEL_US TRANSFER_US: one rank of four; rank 2 has a slow step, and works 20 us longer
rank() {
    awk -v rank="$1" -v kernel="$2" -v transfer="$3" 'BEGIN {
        printf "{\"schemaVersion\": 1, \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": 4},\n", rank
        printf "\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100\"}],\n\"traceEvents\": [\n"
        for (i = 0; i < 6; i++) {
            now = 1000 + i * 400
            late = (rank == 2) * (20 + (i == 3) * 60)
            printf "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%d\", \"pid\": 42, \"tid\": 42, \"ts\": %d, \"dur\": 390},\n", i, now
            printf "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 42, \"tid\": 42, \"ts\": %d, \"dur\": 5, \"args\": {\"correlation\": %d}},\n", now + 1, 2 * i + 1
            printf "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 42, \"tid\": 42, \"ts\": %d, \"dur\": 5, \"args\": {\"correlation\": %d}},\n", now + 7, 2 * i + 2
            printf "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": %d, \"dur\": %d, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": %d}},\n", now + 20, kernel + late, 2 * i + 1
            printf "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce_Sum_f32_RING_LL\", \"pid\": 0, \"tid\": 20, \"ts\": %d, \"dur\": %d, \"args\": {\"device\": 0, \"stream\": 20, \"correlation\": %d, \"Collective name\": \"allreduce\", \"In msg nelems\": 500000, \"Out msg nelems\": 500000, \"Group size\": 4, \"dtype\": \"Float\", \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1, 2, 3]\", \"Seq\": %d}}%s\n", now + 20 + kernel + late, transfer + 80 - late, 2 * i + 2, i + 1, i < 5 ? "," : ""
        }
        printf "]}\n"
    }'
}
for run in 1 2; do
    for number in 0 1 2 3; do
        rank $number $((80 + 20 * run)) $((30 * run)) > rank$number.json
        "$RIDGE" export rank$number.json --format parquet -o fleet/run=$run/
        "$RIDGE" report rank$number.json --format json > report$run-$number.json
    done
done

echo '-- queries'
"$python" - "$TESTS/../docs/fleets.md" << 'PYTHON'
import glob
import os
import re
import sys

import duckdb

for path in glob.glob("fleet/**/process.parquet", recursive=True):  # torch.profiler records no host
    rank = int(re.search("rank=(\\d+)", path).group(1))
    duckdb.sql("COPY (SELECT * REPLACE ('node%d' AS host) FROM read_parquet('%s', hive_partitioning = false)) "
               "TO '%s.new' (FORMAT parquet)" % (rank // 2, path, path))
    os.replace(path + ".new", path)
with open(sys.argv[1]) as file:
    document = file.read()
for title, sql in re.findall(r"### ([^\n]*)\n.*?```sql\n(.*?)```", document, re.S):
    result = duckdb.sql(sql)
    print(title)
    print("  " + " ".join(result.columns))
    for row in result.fetchall():
        print("  " + " ".join("%.6g" % cell if isinstance(cell, float) else str(cell) for cell in row))
PYTHON

echo '-- reports'
"$RIDGE" ranks report1-*.json
"$RIDGE" ranks report1-0.json report2-0.json
"$RIDGE" ranks report1-0.json rank0.json
echo '{"schema": "ridge-report", "trace": {"rank": 9}, "devices": 7, "steps": []}' > small.json
"$RIDGE" ranks small.json
head -c 700 report1-0.json > cut.json
"$RIDGE" ranks cut.json
echo "exit status $?"
