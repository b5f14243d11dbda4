"""The figures of a torch.profiler trace, computed the slow and obvious way, to compare ridge with.

Definitions as in docs/report-json.md: times are exact (decimal microseconds to integer nanoseconds, half to
even), unions are of half-open intervals, a launch is the last API row with the kernel's correlation id.
"""
import collections
import gzip
import json
import re
from decimal import ROUND_HALF_EVEN, Decimal

KERNELS, COPIES, SETS = {"kernel", "Kernel"}, {"gpu_memcpy", "Memcpy"}, {"gpu_memset", "Memset"}
CALLS = {"cuda_runtime", "cuda_driver", "Runtime"}
SYNC = re.compile(r"(cuda|hip)(Device|Stream|Event|Thread)Synchronize|cu(Ctx|Stream|Event)Synchronize")
DIRECTION = re.compile(r"[HDAP]to[HDAP]")

Interval = collections.namedtuple("Interval", "device stream start end name args")


def nanoseconds(microseconds):
    return int((Decimal(microseconds) * 1000).to_integral_value(ROUND_HALF_EVEN))


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    document = json.loads(data, parse_float=Decimal)
    return document["traceEvents"] if isinstance(document, dict) else document


def interval(event):
    args = event.get("args", {})
    start = nanoseconds(event["ts"])
    return Interval(str(args.get("device", event["pid"])), args.get("stream", event["tid"]), start,
                    start + nanoseconds(event["dur"]), event["name"], args)


def merged(intervals):
    result = []
    for start, end in sorted((i.start, i.end) for i in intervals):
        if result and start <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([start, end])
    return result


def length(parts):
    return sum(end - start for start, end in parts)


def span(intervals):
    return max(i.end for i in intervals) - min(i.start for i in intervals) if intervals else 0


def ratio(part, whole):
    return part / whole if whole else 0.0


def stream_gaps(kernels):
    count = positive = total = 0
    for stream in {k.stream for k in kernels}:
        reached = None
        for kernel in sorted((k for k in kernels if k.stream == stream), key=lambda k: (k.start, k.end)):
            if reached is not None:
                gap = max(0, kernel.start - reached)
                count, positive, total = count + 1, positive + (gap > 0), total + gap
            reached = max(reached or kernel.end, kernel.end)
    return {"stream_gap_count": count, "stream_gap_positive": positive, "stream_gap_total_ns": total,
            "stream_mean_gap_ns": ratio(total, count)}


def device_figures(kernels, everything, trace_span):
    blocks = merged(kernels)
    gaps = [after[0] - before[1] for before, after in zip(blocks, blocks[1:])]
    busy, all_busy = length(blocks), length(merged(everything))
    figures = {
        "kernel_count": len(kernels), "kernel_sum_ns": sum(k.end - k.start for k in kernels),
        "kernel_busy_ns": busy, "kernel_span_ns": span(kernels), "kernel_util": ratio(busy, span(kernels)),
        "streams": len({k.stream for k in kernels}), "merged_intervals": len(blocks), "n_gaps": len(gaps),
        "gap_total_ns": sum(gaps), "mean_gap_ns": ratio(sum(gaps), len(gaps)),
        "max_gap_ns": max(gaps, default=0), "gpu_busy_ns": all_busy, "gpu_span_ns": span(everything),
        "gpu_util": ratio(all_busy, span(everything)), "trace_util": ratio(all_busy, trace_span),
    }
    figures.update(stream_gaps(kernels))
    return figures


def launch_figures(kernels, calls):
    launches = {c.args["correlation"]: c for c in calls if c.args.get("correlation")}
    pairs = [(k, launches[k.args["correlation"]]) for k in kernels if k.args.get("correlation") in launches]
    figures = {"kernels_matched": len(pairs), "kernels_unmatched": len(kernels) - len(pairs)}
    if pairs:
        delays = [kernel.start - call.start for kernel, call in pairs]
        distinct = {id(call): call for _, call in pairs}.values()
        figures.update({
            "distinct_launch_calls": len(distinct),
            "mean_launch_api_ns": sum(c.end - c.start for c in distinct) / len(distinct),
            "mean_launch_delay_ns": sum(delays) / len(pairs),
            "negative_delays": sum(delay < 0 for delay in delays),
        })
    return figures


def kernel_figures(kernels):
    if not kernels:
        return {}
    durations = sorted(k.end - k.start for k in kernels)
    return {"kernel_sum_ns": sum(durations), "mean_kernel_ns": sum(durations) / len(durations),
            "min_kernel_ns": durations[0], "median_kernel_ns": durations[len(durations) // 2],
            "max_kernel_ns": durations[-1], "distinct_kernel_names": len({k.name for k in kernels})}


def copy_figures(copies):
    kinds = {}
    for copy in copies:
        kind = kinds.setdefault(DIRECTION.search(copy.name).group(), {"count": 0, "bytes": 0, "time_ns": 0})
        kind["count"] += 1
        kind["bytes"] += copy.args.get("bytes", 0)
        kind["time_ns"] += copy.end - copy.start
    return {"memcpy_count": len(copies), "memcpy_by_kind": kinds,
            "memcpy_bytes": sum(c.args.get("bytes", 0) for c in copies),
            "memcpy_without_bytes": sum("bytes" not in c.args for c in copies)}


def figures(path):
    events = load(path)
    timed = [e for e in events if e.get("ph") == "X" and "dur" in e]
    of = lambda categories: [interval(e) for e in timed if e.get("cat") in categories]
    kernels, copies, sets, calls = of(KERNELS), of(COPIES), of(SETS), of(CALLS)
    everything = kernels + copies + sets
    run = span([interval(e) for e in timed if e.get("cat") not in ("Trace", "overhead")])
    syncs = [c for c in calls if SYNC.match(c.name)]
    result = {
        "kernel_count": len(kernels), "memset_count": len(sets), "api_call_count": len(calls),
        "memset_bytes": sum(s.args.get("bytes", 0) for s in sets), "trace_span_ns": run,
        "sync": {"count": len(syncs), "total_ns": sum(s.end - s.start for s in syncs)},
        "launch": launch_figures(kernels, calls), "events_total": len(events),
        "memory_events": sum(e.get("name") == "[memory]" for e in events),
        "devices": {device: device_figures([k for k in kernels if k.device == device],
                                           [i for i in everything if i.device == device], run)
                    for device in {i.device for i in everything}},
        "other_x_events": collections.Counter(
            e["cat"] for e in timed if e.get("cat") not in KERNELS | COPIES | SETS | CALLS),
        "cuda_sync_records": collections.Counter(
            e["args"]["cuda_sync_kind"] for e in timed if e.get("cat") == "cuda_sync"),
    }
    result.update(kernel_figures(kernels))
    result.update(copy_figures(copies))
    return result
