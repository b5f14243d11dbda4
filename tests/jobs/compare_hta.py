#!/usr/bin/env python3
"""Compares the account of each rank with HolisticTraceAnalysis, for ranks that share fewer than two collectives.

  tests/jobs/compare_hta.py RIDGE FOLDER     by a Python that has HTA; traces of torch.profiler, one per rank; by hand

Times of HTA are microseconds: a difference of 1 us is none."""
import json
import logging
import subprocess
import sys

from hta.trace_analysis import TraceAnalysis

logging.disable(logging.CRITICAL)
ridge, folder = sys.argv[1:3]
theirs = TraceAnalysis(trace_dir=folder, include_last_profiler_step=True).get_temporal_breakdown(visualize=False)
job = json.loads(subprocess.run([ridge, "ranks", "--json", folder], check=True, capture_output=True).stdout)
wrong = 0
print("%5s %-12s %14s %14s" % ("rank", "", "ridge us", "HTA us"))
for rank in job["ranks"]:
    row = theirs[theirs["rank"] == rank["rank"]].iloc[0]
    other = rank["wait_ns"] + rank["transfer_ns"] + rank["unmatched_ns"] + rank["copy_ns"]
    for name, ours, column in (("idle", rank["idle_ns"], "idle_time(us)"), ("compute", rank["compute_ns"], "compute_time(us)"),
                               ("other", other, "non_compute_time(us)"), ("all", rank["window_ns"], "kernel_time(us)")):
        same = abs(ours / 1e3 - row[column]) <= 1
        wrong += not same
        print("%5d %-12s %14.1f %14.1f%s" % (rank["rank"], name, ours / 1e3, row[column], "" if same else "  differs"))
sys.exit(wrong > 0)
