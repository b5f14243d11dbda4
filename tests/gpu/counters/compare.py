#!/usr/bin/env python3
"""compare.py RIDGE REPORT.ncu-rep DETAILS.csv COUNTERS.ridge: ridge's figures against ncu's own page of the same
report, and the known traits of the kernels against what `ridge counters` measured."""
import csv
import io
import json
import subprocess
import sys

# label of the details page, figure of ridge, what the figure is multiplied with
LABELS = [("Compute (SM) Throughput", "sm_throughput", 100), ("Memory Throughput", "memory_throughput", 100),
          ("DRAM Throughput", "dram_throughput", 100), ("Achieved Occupancy", "achieved_occupancy", 100),
          ("Theoretical Occupancy", "theoretical_occupancy", 100), ("L1/TEX Hit Rate", "l1_hit_rate", 100),
          ("L2 Hit Rate", "l2_hit_rate", 100), ("Avg. Active Threads Per Warp", "warp_execution_efficiency", 32),
          ("Branch Efficiency", "branch_efficiency", 100), ("Registers Per Thread", "registers_per_thread", 1),
          ("Waves Per SM", "waves_per_multiprocessor", 1), ("Executed Instructions", "instructions", 1)]

# kernel, figure, test, what was built in
TRAITS = [("copy_coalesced", "dram_throughput", lambda v: v > 0.6, "memory-bound"),
          ("copy_coalesced", "load_sectors_per_request", lambda v: v < 4.5, "coalesced"),
          ("copy_strided", "load_sectors_per_request", lambda v: v > 24, "uncoalesced"),
          ("transpose_conflicts", "bank_conflicts", lambda v: v > 1e6, "bank conflicts"),
          ("transpose_padded", "bank_conflicts", lambda v: v < 1e5, "no bank conflicts"),
          ("divergent", "warp_execution_efficiency", lambda v: v < 0.7, "divergence"),
          ("arithmetic", "warp_execution_efficiency", lambda v: v > 0.95, "no divergence"),
          ("local_memory", "local_memory_instructions", lambda v: v > 1e6, "local memory"),
          ("full_occupancy", "theoretical_occupancy", lambda v: v > 0.99, "full occupancy"),
          ("shared_limited", "achieved_occupancy", lambda v: v < 0.3, "low occupancy"),
          ("shared_limited", "occupancy_limiter", lambda v: v == "shared memory", "limited by shared memory"),
          ("arithmetic", "sm_throughput", lambda v: v > 0.6, "compute-bound"),
          ("pointer_chase", "top_stall", lambda v: v == "long_scoreboard", "latency of memory"),
          ("product", "tensor_pipe", lambda v: v > 0.3, "tensor cores")]


def figures(ridge, path):
    text = subprocess.run([ridge, "report", path, "--format", "json"], capture_output=True, text=True, check=True)
    return {kernel["name"]: kernel for kernel in json.loads(text.stdout).get("kernel_counters", [])}


def of_kernel(kernels, name):
    if name != "product":
        return kernels.get(name)
    tensor = [kernel for kernel in kernels.values() if (kernel.get("tensor_pipe") or 0) > 0.1]
    return max(tensor, key=lambda kernel: kernel["duration_ns"], default=None)


def pages(path):
    """Means over launches by kernel and label, weighted by duration as ridge's are."""
    lines = [line for line in open(path, errors="replace") if line.startswith('"')]
    rows = list(csv.DictReader(io.StringIO("".join(lines))))
    launches = {}
    for row in rows:
        if row.get("Metric Name") and row.get("Metric Value") not in ("", "n/a", None):
            key = row["ID"], row["Kernel Name"].split("(")[0].split("<")[0].split()[-1].split("::")[-1]
            label = row["Metric Name"] if row["Metric Unit"].find("/s") < 0 else row["Metric Name"] + "/s"
            value = row["Metric Value"].replace(",", "")
            scale = {"ms": 1e6, "us": 1e3, "s": 1e9, "msecond": 1e6, "usecond": 1e3}.get(row["Metric Unit"], 1)
            try:
                launches.setdefault(key, {})[label] = float(value) * scale
            except ValueError:
                pass
    return launches


def main(ridge, report, details, counters):
    kernels, wrong, compared = figures(ridge, report), 0, 0
    launches = pages(details)
    for name, kernel in kernels.items():
        base = name.split("<")[0]
        own = [values for (_, other), values in launches.items() if other == base]
        for label, figure, scale in LABELS:
            values = [(v[label], v.get("Duration", 1)) for v in own if label in v]
            if not values or kernel.get(figure) is None:
                continue
            if figure == "instructions":
                expected = sum(v for v, _ in values)
            else:
                expected = sum(v * w for v, w in values) / sum(w for _, w in values)
            actual = kernel[figure] * scale
            compared += 1
            if abs(actual - expected) > 0.05 * abs(expected) + 0.02:
                wrong += 1
                print(f"DIFFERS {base} {label}: ridge {actual:.4g}, ncu {expected:.4g}")
    print(f"{compared} figures of {len(kernels)} kernels compared with ncu's details page, {wrong} beyond 5 %")
    measured, failed = figures(ridge, counters), 0
    for name, figure, test, what in TRAITS:
        kernel = of_kernel(measured, name)
        value = kernel.get(figure) if kernel else None
        good = value is not None and test(value)
        failed += not good
        print(f"{'ok    ' if good else 'WRONG '} {name:20} {what:26} {figure} = {value}")
    print(f"{len(TRAITS) - failed} of {len(TRAITS)} traits shown")
    return wrong + failed > 0


sys.exit(main(*sys.argv[1:5]))
