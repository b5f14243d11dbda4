#!/usr/bin/env python3
"""Scores the diagnosis against the corpus: what does `ridge report` find in traces whose fault is known?

    RIDGE=build/ridge tests/corpus/score.py [--bar] [--count] [FOLDER]     (FOLDER: the traces beside this file)

Prints the confusion matrix, how often the right finding came first, how many healthy runs were blamed, how
near the recoverable time comes to the injected, how near the replay without a change comes to the measured
time, and every miss. With --bar it fails when a bar is missed; --count ends in `N passed, N failed`."""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TOP_1, BLAMED, RECOVERED, REPLAY = 0.95, 0.02, 0.10, 0.02
NOISE = 0.02  # of the run: times on a GPU repeat no better


def run_json(command):
    done = subprocess.run(command, capture_output=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace").strip() or f"status {done.returncode}")
    return json.loads(done.stdout)


class Scored:
    """A trace, what is true of it, and what ridge says."""

    def __init__(self, ridge, folder, truth):
        self.truth, self.problem, self.findings, self.time = truth, "", [], 0
        self.replay, self.recovered, self.injected = None, None, None
        path = os.path.join(folder, truth["trace"])
        try:
            report = run_json([ridge, "report", path, "--format", "json"])
            verdict = report["verdict"]
            self.findings, self.time = verdict["findings"], verdict["time_ns"]
            self.leak = leaks(report)
            unchanged = run_json([ridge, "whatif", path, "--format", "json"])["unchanged"]
            self.replay = abs(unchanged["after_ns"] - unchanged["before_ns"]) / max(1, unchanged["before_ns"])
        except (RuntimeError, KeyError, TypeError, ValueError, subprocess.TimeoutExpired) as error:
            self.problem = f"no {error}" if isinstance(error, KeyError) else str(error)
        self.first = self.findings[0]["kind"] if self.findings else "none"
        self.right = self.first in truth["expected"]
        self.compare_times()

    def compare_times(self):
        """Of the found fault, both as part of the timed steps: a trace may hold more than those."""
        injected = self.truth["injected_ns"]
        if not self.right or not injected or not self.time or self.first == "healthy":
            return
        main = next(iter(injected))
        if self.truth["also"]:  # of a pair, the one that was named
            main = next((key for key in injected if key in self.same_as(self.first)), main)
        self.injected = injected.get(self.first, injected[main])
        self.recovered = self.findings[0]["recoverable_ns"] / self.time * self.truth["recorded_ns"]

    def same_as(self, kind):
        return next((group for group in self.truth["also"] if kind in group), [kind])

    def missing_second(self):
        """Of a pair: the names of a fault that is not among the findings."""
        kinds = {finding["kind"] for finding in self.findings}
        return [group for group in self.truth["also"] if not kinds & set(group)]

    def error(self):
        return abs(self.recovered - self.injected) / self.injected

    def is_near(self):
        return abs(self.recovered - self.injected) <= max(RECOVERED * self.injected, NOISE * self.truth["recorded_ns"])

    def kind(self):
        return self.truth["expected"][0]


def leaks(report):
    """A name of a machine, a user or a device's number in what a report shows."""
    if report["trace"].get("host") not in (None, "", "corpus"):
        return "the host's name"
    # the checkout's own path is the reader's: the report names the file it was made from
    text = json.dumps(report).replace(os.path.dirname(os.path.dirname(HERE)), "")
    found = re.search(r"/home/[^/\"]+|GPU-[0-9a-f]{8}-", text)
    return found[0] if found else ""


def print_matrix(rows):
    expected = sorted({row.kind() for row in rows})
    found = sorted({row.first for row in rows})
    width = max(len(word) for word in expected + found)
    print("Confusion: expected in lines, found first in columns\n")
    for i, name in enumerate(found):
        print(" " * width + "   |" * i + "   " + name)
    for kind in expected:
        cells = ""
        for name in found:
            count = sum(row.kind() == kind and row.first == name for row in rows)
            right = any(row.right for row in rows if row.kind() == kind and row.first == name)
            cells += f"{count or '.':>3}" + ("+" if count and right else " ")
        print(f"{kind:{width}} {cells}".rstrip())
    print("\n+ is a right answer: other names for the same fault count, and so does either of two equal faults.\n")


def print_times(rows):
    timed = [row for row in rows if row.recovered is not None]
    if not timed:
        return None
    print("Recoverable as the report says, of what was injected:\n")
    print(f"{'fault':20} {'traces':>6} {'near':>6} {'median off':>11} {'worst off':>10}  worst trace")
    for kind in sorted({row.kind() for row in timed}):
        some = [row for row in timed if row.kind() == kind]
        worst = max(some, key=Scored.error)
        print(f"{kind:20} {len(some):6} {sum(row.is_near() for row in some):6} {statistics.median(map(Scored.error, some)):11.1%} "
              f"{worst.error():10.1%}  {worst.truth['name']}")  # fmt: skip
    near = sum(row.is_near() for row in timed) / len(timed)
    middle = statistics.median(map(Scored.error, timed))
    print(f"{'all':20} {len(timed):6} {near:6.0%} {middle:11.1%}\n\nnear: within {RECOVERED:.0%} of the injected, or {NOISE:.0%} of the run.\n")
    return middle


def print_misses(rows):
    for row in rows:
        name = row.truth["name"]
        if row.problem:
            print(f"{name}: {row.problem}")
        elif not row.right:
            shown = ", ".join(f"{f['kind']} {f.get('recoverable_ns', 0) / 1e6:.2f} ms" for f in row.findings[:3])
            print(f"{name}: expected {' or '.join(row.truth['expected'])}, found {shown or 'nothing'}"
                  f" (injected {max(row.truth['injected_ns'].values(), default=0) / 1e6:.2f} of {row.truth['recorded_ns'] / 1e6:.2f} ms)")  # fmt: skip
        for group in row.missing_second():
            print(f"{name}: the other fault, {' or '.join(group)}, is not among the findings")
        if row.recovered is not None and not row.is_near():
            print(f"{name}: recoverable {row.recovered / 1e6:.2f} ms, injected {row.injected / 1e6:.2f} ms")
        if row.replay is not None and row.replay > REPLAY:
            print(f"{name}: the replay without a change is {row.replay:.1%} off")
        if getattr(row, "leak", ""):
            print(f"{name}: names {row.leak}")


def scores(rows, middle):
    """(what, value, whether the bar is met, the bar in words)"""
    healthy = [row for row in rows if row.kind() == "healthy"]
    replayed = [row.replay for row in rows if row.replay is not None]
    right = sum(row.right for row in rows) / len(rows)
    blamed = sum(not row.right for row in healthy) / max(1, len(healthy))
    seconds = sum(not row.missing_second() for row in rows if row.truth["also"]) / max(1, sum(bool(row.truth["also"]) for row in rows))
    worst = max(replayed, default=1)
    return [
        ("right finding first", right, right >= TOP_1, f"at least {TOP_1:.0%}"),
        ("healthy runs blamed", blamed, blamed <= BLAMED, f"at most {BLAMED:.0%}"),
        ("both of a pair, or a remark, found", seconds, seconds >= TOP_1, f"at least {TOP_1:.0%}"),
        ("recovered, median off", middle if middle is not None else 1, middle is not None and middle <= RECOVERED, f"at most {RECOVERED:.0%}"),
        ("replay, worst off", worst, worst <= REPLAY, f"at most {REPLAY:.0%}"),
        ("traces that could not be judged", sum(bool(row.problem) for row in rows) / len(rows), not any(row.problem for row in rows), "none"),
        ("traces that name a place", sum(bool(getattr(row, "leak", "")) for row in rows) / len(rows), not any(getattr(row, "leak", "") for row in rows), "none"),
    ]


def main():
    parser = argparse.ArgumentParser(description="Scores ridge's diagnosis against traces with known faults.")
    parser.add_argument("folder", nargs="?", default=os.path.join(HERE, "traces"))
    parser.add_argument("--bar", action="store_true", help="fail below the bars")
    parser.add_argument("--count", action="store_true", help="end with `N passed, N failed`")
    arguments = parser.parse_args()
    ridge = os.environ.get("RIDGE", os.path.join(HERE, "..", "..", "build", "ridge"))
    try:
        with open(os.path.join(arguments.folder, "truth.json")) as file:
            truths = json.load(file)["traces"]
    except OSError as error:
        print(f"SKIP there is no corpus: {error}")
        return 77
    truths = [row for row in truths if not row.get("option")]  # those are whatif_pairs.py's
    if not truths:
        print(f"SKIP {arguments.folder} has no trace to score")
        return 77
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda truth: Scored(ridge, arguments.folder, truth), truths))
    print_matrix(rows)
    middle = print_times(rows)
    print_misses(rows)
    print()
    bars = scores(rows, middle)
    for what, value, met, bar in bars:
        print(f"{what:36} {value:6.1%}  ({bar}){'' if met else '  MISSED'}")
    if arguments.count:
        print(f"{sum(row[2] for row in bars)} passed, {sum(not row[2] for row in bars)} failed")
    return 1 if arguments.bar and not all(row[2] for row in bars) else 0


if __name__ == "__main__":
    sys.exit(main())
