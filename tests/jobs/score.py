#!/usr/bin/env python3
"""Jobs with one known late rank, or none: is the rank right, the cause, and the cost within 10 %?

  tests/jobs/score.py RIDGE SET FOLDER     needs mpicc, mpirun and PyTorch; by hand

The truth is computed here from the times that the programs write themselves, not from the recording: the job
is simulated again with the late rank as fast as the lower median of the others. The programs of set 4 and later also
write how long what was planted took: where that is less than half of the true cost, because the machine
has other work, the right cause is that the rank has no processor. The older programs do not; there the
cause is undecided where the planned delay is less than half of the true cost."""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("JOBS_PYTHON", "/usr/bin/python3")


def runs(first):
    """program, kind, ranks, late rank, milliseconds, steps"""
    for kind in ("sleep", "work", "input"):
        for count in (2, 3, 4):
            for late in (first, 2 * first):
                yield "solver.c", kind, count, late % count, late, 25
    yield from (("solver.c", "none", 2, 0, 0, 25), ("solver.c", "none", 4, 0, 0, 25))
    for kind in ("sleep", "work", "input", "gc"):
        for count in (2, 3):
            for late in (first + 10, 2 * first + 20):
                yield "train.py", kind, count, late % count, late, 25
    yield from (("train.py", "none", count, 0, 0, 25) for count in (2, 3, 2, 3))


def later_runs(first):
    for kind in ("nap", "poll", "rows", "slow", "refine", "fifo", "lock"):
        for count, ms in ((2, first), (3, first + 13), (4, first + 6)):
            yield "stencil.c", kind, count, ms % count, ms, 20
    for kind in ("wait", "tokens", "extra", "queue", "decode", "gc"):
        for count, ms in ((2, first + 3), (3, first + 10), (2, first + 24)):
            yield "tokens.py", kind, count, ms % count, ms, 20
    yield from ((program, "none", count, 0, 0, 20) for program in ("stencil.c", "tokens.py") for count in (2, 3))


def last_runs(first):
    for kind in ("timer", "sort", "crowd", "helper", "pipe"):
        for count, ms in ((2, first), (3, first + 8), (4, first + 15), (3, first + 21)):
            yield "particles.c", kind, count, (ms + 1) % count, ms, 20
    for kind in ("pause", "loader", "lock", "autogc", "score", "deep"):
        for count, ms in ((2, first + 4), (3, first + 11), (2, first + 19)):
            yield "layers.py", kind, count, (ms + 1) % count, ms, 20
    yield from ((program, "none", count, 0, 0, 20) for program in ("particles.c", "layers.py") for count in (2, 3))


# A set is scored once. A rule that was changed after it is scored on the next one.
SETS = {"1": runs(31), "2": runs(47), "3": runs(53), "4": later_runs(22), "5": later_runs(29), "6": last_runs(26)}

CAUSES = {"sleep": {"sleep"}, "work": {"more-work"}, "input": {"input", "blocked"},
          "gc": {"garbage-collection"},
          "nap": {"sleep"}, "poll": {"sleep", "blocked"}, "wait": {"sleep", "blocked"}, "rows": {"more-work", "longer"},
          "slow": {"slower", "longer"}, "refine": {"more-work"}, "extra": {"more-work"},
          "tokens": {"more-work", "longer"}, "fifo": {"input", "blocked"}, "lock": {"blocked"},
          "queue": {"input", "blocked"}, "decode": {"input"},
          "timer": {"sleep", "blocked"}, "sort": {"more-work"}, "crowd": {"more-work", "longer"}, "helper": {"blocked"},
          "pipe": {"input", "blocked"}, "pause": {"sleep"}, "loader": {"input"}, "score": {"more-work"},
          "autogc": {"garbage-collection"}, "deep": {"more-work", "longer"}}
NO_PLANT = {"no-processor", "unknown", "slower", "longer"}


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


def record(ridge, base, folder, number, program, kind, count, late, ms, steps):
    trace = os.path.join(folder, "job.ridge")
    arguments = [kind, str(late), str(ms), str(steps)]
    if program.endswith(".c"):
        command = ["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", str(count),
                   os.path.join(base, program[:-2])] + arguments
        options = []
    else:
        command = [PYTHON, os.path.join(HERE, program)] + arguments + [str(count), str(29400 + number)]
        options = ["--ranks", "all"]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    subprocess.run([ridge, "record", "-q", "-f", "-o", trace] + options + ["--"] + command, cwd=folder,
                   env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)


def judge(ridge, folder, kind, count, late, ms, steps):
    job = json.loads(subprocess.run([ridge, "ranks", "--json", os.path.join(folder, "job.ridge")], check=True,
                                    capture_output=True).stdout)
    ranks = read_times(folder, count)
    length = simulate(ranks)
    costs = [length - simulate(ranks, rank) for rank in range(count)]
    worst = max(range(count), key=lambda rank: costs[rank])
    found = job["straggler"]
    cause = found["cause"] if found else None
    planted = sum(row[2] for row in ranks[late][1:]) if len(ranks[0][0]) > 2 else None
    if kind == "none":
        right_rank = found["rank"] == worst if found else costs[worst] < 0.04 * length
        right_cause = not found or cause in NO_PLANT
    elif planted is None:
        right_rank = bool(found) and found["rank"] == late == worst
        right_cause = cause in CAUSES[kind]
        if not right_cause and ms * 1e6 * (steps - 1) < costs[worst] / 2:
            right_cause = None
    else:
        right_rank = bool(found) and found["rank"] == worst
        of_plant = worst == late and planted >= costs[worst] / 2
        right_cause = cause in (CAUSES[kind] if of_plant else NO_PLANT)
    cost = found["cost_ns"] if found else 0
    right_cost = abs(cost - costs[worst]) <= 0.1 * max(costs[worst], 0.02 * length)
    return (right_rank, right_cause, right_cost, cost / 1e6, costs[worst] / 1e6, cause or "-",
            found["rank"] if found else "-", (planted or 0) / 1e6)


def main():
    ridge, base = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[3])
    if not shutil.which("mpicc") or not shutil.which("mpirun"):
        sys.exit("needs mpicc and mpirun")
    chosen = list(SETS[sys.argv[2]])
    os.makedirs(base, exist_ok=True)
    for program in {run[0] for run in chosen if run[0].endswith(".c")}:
        subprocess.run(["mpicc", "-O1", "-g", "-o", os.path.join(base, program[:-2]), os.path.join(HERE, program),
                        "-lm"], check=True)
    totals, undecided = [0, 0, 0, 0], 0
    print("%3s %-9s %-6s %5s %4s %4s  %-20s %4s %9s %9s %9s  %s" % (
        "", "program", "kind", "ranks", "late", "ms", "found", "rank", "cost ms", "truth ms", "plant ms",
        "rank cause cost"))
    for number, run in enumerate(chosen):
        program, kind, count, late, ms, steps = run
        folder = os.path.join(base, "run%d" % (number + 1))
        os.makedirs(folder, exist_ok=True)
        try:
            if not os.path.exists(os.path.join(folder, "job.ridge")):
                record(ridge, base, folder, number, *run)
            result = judge(ridge, folder, kind, count, late, ms, steps)
        except Exception as error:
            print("%3d %-9s %-6s failed: %s" % (number + 1, program, kind, str(error)[:100]), flush=True)
            totals[3] += 1
            continue
        for i in range(3):
            totals[i] += result[i] is True
        undecided += result[1] is None
        print("%3d %-9s %-6s %5d %4d %4d  %-20s %4s %9.1f %9.1f %9.1f  %s" % (
            number + 1, program, kind, count, late, ms, result[5], result[6], result[3], result[4], result[7],
            " ".join("?   " if right is None else "yes " if right else "NO  " for right in result[:3])), flush=True)
    print("of %d runs: right rank %d, right cause %d (%d undecided), cost within 10 %% %d, not run %d" % (
        len(chosen), totals[0], totals[1], undecided, totals[2], totals[3]))


main()
