#!/usr/bin/env python3
"""Forty jobs with one known late rank, or none: is the rank right, the cause, and the cost within 10 %?

  tests/jobs/score.py RIDGE SET FOLDER     needs mpicc, mpirun and PyTorch; by hand

The truth is computed here from the times that the programs write themselves, not from the recording:
the job is simulated again with the late rank as fast as the lower median of the others. On a machine with
other work a rank may be later by chance than by plan: where the planned delay is less than half of the true
cost, the cause is undecided."""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 25



def runs(first):
    """library, kind, ranks, late rank, milliseconds"""
    for kind in ("sleep", "work", "input"):
        for count in (2, 3, 4):
            for late in (first, 2 * first):
                yield "mpi", kind, count, late % count, late
    yield from (("mpi", "none", 2, 0, 0), ("mpi", "none", 4, 0, 0))
    for kind in ("sleep", "work", "input", "gc"):
        for count in (2, 3):
            for late in (first + 10, 2 * first + 20):
                yield "gloo", kind, count, late % count, late
    yield from (("gloo", "none", count, 0, 0) for count in (2, 3, 2, 3))


# A set is scored once. A rule that was changed after it is scored on the next one.
SETS = {"1": 31, "2": 47, "3": 53}

CAUSES = {"sleep": {"sleep"}, "work": {"more-work"}, "input": {"input", "blocked"},
          "gc": {"garbage-collection"}}


def read_times(folder, count):
    ranks = []
    for rank in range(count):
        with open(os.path.join(folder, "times-%d" % rank)) as file:
            ranks.append([tuple(map(int, line.split())) for line in file])
    return ranks


def simulate(ranks, without=None):
    """The length of the job from the end of the first collective to the end of the last."""
    count, steps = len(ranks), len(ranks[0])
    now = [ranks[r][0][1] for r in range(count)]
    first = min(now)
    for k in range(1, steps):
        own = [ranks[r][k][0] - ranks[r][k - 1][1] for r in range(count)]
        if without is not None:
            others = sorted(own[r] for r in range(count) if r != without)
            own[without] = min(own[without], others[(len(others) - 1) // 2])
        last_measured = max(ranks[r][k][0] for r in range(count))
        last = max(now[r] + own[r] for r in range(count))
        now = [last + ranks[r][k][1] - last_measured for r in range(count)]
    return max(now) - first


def run(ridge, solver, folder, number, library, kind, count, late, ms):
    trace = os.path.join(folder, "job.ridge")
    arguments = [kind, str(late), str(ms), str(STEPS)]
    if library == "mpi":
        command = ["mpirun", "--oversubscribe", "-n", str(count), solver] + arguments
        options = []
    else:
        command = ["/usr/bin/python3", os.path.join(HERE, "train.py")] + arguments + [str(count), str(29400 + number)]
        options = ["--ranks", "all"]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    subprocess.run([ridge, "record", "-q", "-f", "-o", trace] + options + ["--"] + command, cwd=folder,
                   env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
    job = json.loads(subprocess.run([ridge, "ranks", "--json", trace], check=True, capture_output=True).stdout)
    ranks = read_times(folder, count)
    length = simulate(ranks)
    costs = [length - simulate(ranks, rank) for rank in range(count)]
    worst = max(range(count), key=lambda rank: costs[rank])
    found = job["straggler"]
    if kind == "none":
        right_rank = found["rank"] == worst if found else costs[worst] < 0.04 * length
        right_cause = True if not found else found["cause"] in ("no-processor", "unknown", "slower")
    else:
        right_rank = bool(found) and found["rank"] == late == worst
        right_cause = bool(found) and found["cause"] in CAUSES[kind]
        if not right_cause and ms * 1e6 * (STEPS - 1) < costs[worst] / 2:
            right_cause = None
    cost = found["cost_ns"] if found else 0
    right_cost = abs(cost - costs[worst]) <= 0.1 * max(costs[worst], 0.02 * length)
    return right_rank, right_cause, right_cost, cost / 1e6, costs[worst] / 1e6, found["cause"] if found else "-", found["rank"] if found else "-"


def main():
    ridge = os.path.abspath(sys.argv[1])
    if not shutil.which("mpicc") or not shutil.which("mpirun"):
        sys.exit("needs mpicc and mpirun")
    base = os.path.abspath(sys.argv[3])
    chosen = list(runs(SETS[sys.argv[2]]))
    os.makedirs(base, exist_ok=True)
    solver = os.path.join(base, "solver")
    subprocess.run(["mpicc", "-O1", "-g", "-o", solver, os.path.join(HERE, "solver.c")], check=True)
    totals, undecided = [0, 0, 0, 0], 0
    print("%3s %-5s %-6s %5s %4s %4s  %-20s %4s %10s %10s  %s" % (
        "", "lib", "kind", "ranks", "late", "ms", "found", "rank", "cost ms", "truth ms", "rank cause cost"))
    for number, (library, kind, count, late, ms) in enumerate(chosen):
        folder = os.path.join(base, "run%d" % number)
        os.makedirs(folder, exist_ok=True)
        try:
            result = run(ridge, solver, folder, number, library, kind, count, late, ms)
        except Exception as error:
            print("%3d %-5s %-6s failed: %s" % (number + 1, library, kind, str(error)[:100]), flush=True)
            totals[3] += 1
            continue
        for i in range(3):
            totals[i] += result[i] is True
        undecided += result[1] is None
        print("%3d %-5s %-6s %5d %4d %4d  %-20s %4s %10.1f %10.1f  %s" % (
            number + 1, library, kind, count, late, ms, result[5], result[6], result[3], result[4],
            " ".join("?   " if right is None else "yes " if right else "NO  " for right in result[:3])), flush=True)
    print("of %d runs: right rank %d, right cause %d (%d undecided), cost within 10 %% %d, not run %d" % (
        len(chosen), totals[0], totals[1], undecided, totals[2], totals[3]))


main()
