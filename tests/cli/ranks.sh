# A distributed job: traces of ranks are merged and joined; the late rank and its cost are named.
# rank.json RANK LATE: kernels of one rank of two, as torch.profiler writes them; times in us
rank() {
    awk -v rank="$1" -v late="$2" -v count="${3:-6}" 'BEGIN {
        printf "{\"schemaVersion\": 1, \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": 2},\n", rank
        printf "\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100\"}],\n\"traceEvents\": [\n"
        now = 1000
        for (i = 0; i < count; i++) {
            printf "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": %d, \"dur\": %d, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": %d}},\n", now, 100 + late, 2 * i + 1
            printf "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)\", \"pid\": 0, \"tid\": 20, \"ts\": %d, \"dur\": %d, \"args\": {\"device\": 0, \"stream\": 20, \"correlation\": %d, \"Collective name\": \"allreduce\", \"In msg nelems\": 250000, \"Out msg nelems\": 250000, \"Group size\": 2, \"dtype\": \"Float\", \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1]\", \"Seq\": %d}}%s\n", now + 100 + late, 90 - late, 2 * i + 2, i + 1, i + 1 < count ? "," : ""
            now += 190
        }
        printf "]}\n"
    }'
}

mkdir job
rank 0 0 > job/rank0.json
rank 1 40 > job/rank1.json
$RIDGE ranks job
$RIDGE merge job -o job.ridge
$RIDGE ranks job.ridge --json | head -34
$RIDGE query job.ridge "SELECT key, value FROM meta WHERE key IN ('rank', 'source.rank') ORDER BY 1, 2"

echo '-- the report is that of the job; one rank on request'
$RIDGE report job.ridge | sed -n '1,4p;$p'
$RIDGE report job.ridge --rank 1 --section account | head -20
$RIDGE report job.ridge --section account | grep -a 'H100)'
$RIDGE report job.ridge --rank 7
$RIDGE report job.ridge --rank x

echo '-- predictions'
$RIDGE whatif job --no-straggler
$RIDGE whatif job.ridge --no-straggler=0
$RIDGE whatif job.ridge --comm 2x
$RIDGE whatif job.ridge --link 400G --json
$RIDGE whatif job.ridge --overlap-comm
$RIDGE whatif job.ridge --comm fast
$RIDGE whatif job.ridge --link 400Z
$RIDGE whatif job.ridge --comm 2x --graph
$RIDGE whatif job.ridge job.ridge

echo '-- a rank is missing'
sed -i 's/"world_size": 2/"world_size": 4/' job/rank1.json
$RIDGE merge job -o four.ridge
$RIDGE ranks job | grep -i missing

echo '-- a rank is there twice'
cp job/rank1.json job/rank1-again.json
$RIDGE ranks job
echo "exit status $?"
$RIDGE merge job -o twice.ridge
echo "exit status $?"
ls twice.ridge 2>&1 | sed 's/.*: No such/No such/'

echo '-- operations are lost'
rank 1 40 4 > job/rank1.json
rm job/rank1-again.json
$RIDGE ranks job | sed -n '/^Trust/,$p'

echo '-- many clocks are summed up; the page'
mkdir many
for number in 0 1 2 3 4 5 6 7 8 9; do
    rank $number 0 | sed 's/"world_size": 2/"world_size": 10/; s/"Group size": 2/"Group size": 10/; s/\[0, 1\]/[0, 9]/' > many/rank$number.json
done
$RIDGE ranks many | sed -n '/^Trust/,$p'
$RIDGE ranks many -o many.html && grep -c 'id="job-0"' many.html
$RIDGE report many/rank0.json --format json > many.json
$RIDGE ranks many.json -o report.html

echo '-- nothing to join'
mkdir empty
$RIDGE ranks empty
$RIDGE record --ranks zero -- true
$RIDGE merge job -o -
echo "exit status $?"
