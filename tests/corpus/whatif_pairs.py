#!/usr/bin/env python3
"""Were the predictions of `ridge whatif` right? For each pair of programs that really ran, before and after:

    RIDGE=build/ridge tests/corpus/whatif_pairs.py [--bar] [FOLDER]

prints, as the table of docs/whatif.md, the time that was measured before, what is predicted from its trace,
what was measured after, and how far off that is. The times are of the timed steps of both, in turns, in one
process. With --bar it fails when they are off by more than 8 % on average."""

import argparse
import json
import os
import statistics
import sys

from score import HERE, run_json

MEAN_ERROR = 0.08


def kernel_mean(ridge, folder, trace, name):
    report = run_json([ridge, "report", os.path.join(folder, trace), "--format", "json"])
    rows = [row for device in report["devices"].values() for row in device["kernels"] if name in row["name"]]
    return sum(row["total_ns"] for row in rows) / sum(row["count"] for row in rows)


def options_of(ridge, folder, row):
    """`--faster NAME` gets the factor by which the kernel really became faster: what is tried is the
    replay, not how a kernel's time follows from its arithmetic."""
    words = row["option"].split()
    if words[0] == "--faster":
        times = [kernel_mean(ridge, folder, row[which], words[1]) for which in ("trace", "after")]
        words[1] += f"={times[0] / times[1]:.4g}x"
    return words


def predict(ridge, folder, row):
    """Scaled by the share of the run that is left, as the trace's time may hold more than the steps'."""
    trace = os.path.join(folder, row["trace"])
    outcome = run_json([ridge, "whatif", trace, "--format", "json"] + options_of(ridge, folder, row))["together"]
    if not outcome["applies"]:
        raise RuntimeError(outcome["why_not"])
    return row["before_ns"] * outcome["after_ns"] / outcome["before_ns"]


def main():
    parser = argparse.ArgumentParser(description="Compares predictions of ridge whatif with what was measured.")
    parser.add_argument("folder", nargs="?", default=os.path.join(HERE, "traces"))
    parser.add_argument("--bar", action="store_true", help="fail when the predictions are off")
    arguments = parser.parse_args()
    ridge = os.environ.get("RIDGE", os.path.join(HERE, "..", "..", "build", "ridge"))
    try:
        with open(os.path.join(arguments.folder, "truth.json")) as file:
            rows = [row for row in json.load(file)["traces"] if row.get("option")]
    except OSError as error:
        print(f"SKIP there is no corpus: {error}")
        return 77
    print("| program | change | before | predicted | measured | the time is off by | the gain is off by |\n|---|---|---:|---:|---:|---:|---:|")
    errors, problems = [], []
    for row in rows:
        name = row["name"].removeprefix("whatif-")
        try:
            predicted = predict(ridge, arguments.folder, row)
        except (RuntimeError, KeyError, ZeroDivisionError) as error:
            problems.append(f"{name}: {error}")
            continue
        off = (row["after_ns"] - predicted) / (row["before_ns"] - row["after_ns"])
        errors.append(abs(off))
        cells = " | ".join(f"{ns / row['steps'] / 1e6:.3f} ms" for ns in (row["before_ns"], predicted, row["after_ns"]))
        print(f"| {name} | `{row['option']}` | {cells} | {predicted / row['after_ns'] - 1:+.1%} | {off:+.1%} |")
    for problem in problems:
        print(problem)
    mean = statistics.mean(errors) if errors else 1
    print(f"\n{len(errors)} pairs, a step each; gains off by {mean:.1%} on average (at most {MEAN_ERROR:.0%})")
    return 1 if arguments.bar and (mean > MEAN_ERROR or problems) else 0


if __name__ == "__main__":
    sys.exit(main())
