# Figures that a trace does not hold print as "?" in text and Markdown and as null in JSON, and
# never as 0. Here one copy has no size and no kind of memory, one has both, and a set has no size.
command -v python3 > /dev/null || { echo "SKIP there is no python3" && exit 77; }
event() {
    printf '{"ph":"X","cat":"%s","name":"%s","pid":0,"tid":7,"ts":%s,"dur":%s,"args":{"device":0,"stream":7,"correlation":%s%s}}' "$@"
}
{
    printf '{"schemaVersion":1,"traceEvents":['
    event kernel gemm 10 5 1 ''
    printf ,
    event gpu_memcpy 'Memcpy HtoD (Unknown -> Device)' 20 4 2 ''
    printf ,
    event gpu_memcpy 'Memcpy DtoH (Device -> Pinned)' 30 2 3 ',"bytes":8000'
    printf ,
    event gpu_memset Memset 40 1 4 ''
    printf ']}'
} > mixed.json
{
    printf '{"schemaVersion":1,"traceEvents":['
    event kernel gemm 10 5 1 ''
    printf ,
    event gpu_memcpy 'Memcpy HtoD (Unknown -> Device)' 20 4 2 ''
    printf ']}'
} > unsized.json
for trace in mixed.json unsized.json; do
    echo "== $trace"
    "$RIDGE" report --no-verdict --section account,copies "$trace" > text
    grep 'Memory throughput' text
    sed -n '/^  direction/,/^$/p' text
    "$RIDGE" report --no-verdict -o report.md -f "$trace"
    grep 'Memory throughput' report.md
    sed -n '/Memory Patterns/,/Overlapped/p' report.md
    sed -n '/^| direction/,/^$/p' report.md
    "$RIDGE" report --no-verdict --format csv "$trace" | tr -d '\r'
    "$RIDGE" report --no-verdict --json "$trace" > report.json
    python3 - << 'END'
import json
report = json.load(open("report.json"))
totals, device = report["totals"], report["devices"]["0"]
print("totals", totals["memcpy_bytes"], totals["memcpy_without_bytes"], totals["memset_bytes"])
for name, group in [*device["copies"].items(), ("memset", device["memsets"])]:
    print(name, group["bytes"], group["gb_per_s"], *(group[part] for part in ("small", "pageable", "pinned")))
END
done
