"""What torch.profiler and nsys cost per event: loops of tiny launches alone and under each profiler.

    python3 tests/gpu/profiler_overhead.py [OUT.json]

Each loop has another mix of operators, runtime calls, kernels and Python functions. Its time per turn alone
is taken from its time per turn under the profiler; a least-squares fit over the loops gives the cost of each
event kind, and the residuals its error. src/diagnose/profiler_cost.c has the rows."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch.profiler import ProfilerActivity, profile

TURNS, ROUNDS = 400, 7
KINDS = ["cpu_op", "cuda_runtime", "python_function"]


def deep(n, x):
    return deep(n - 1, x) if n else x.add_(1)


def make_loops():
    x = torch.ones(64, device="cuda")
    m = torch.ones(16, 16, device="cuda")
    linear = torch.nn.Linear(16, 16).cuda()
    mlp = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(4)]).cuda()
    optimizer = torch.optim.SGD(mlp.parameters(), lr=1e-3, foreach=False)
    event = torch.cuda.Event()
    host = torch.ones(64)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(4):
            x.add_(1)

    def train():
        optimizer.zero_grad(set_to_none=True)
        mlp(m).sum().backward()
        optimizer.step()

    def views():
        x.view(8, 8).t().reshape(-1)[:8].unsqueeze(0)

    return {
        "add": lambda: x.add_(1), "add x4": lambda: [x.add_(1) for _ in range(4)],
        "views": views, "views+add": lambda: (views(), x.add_(1)), "linear": lambda: linear(m),
        "layer_norm": lambda: torch.nn.functional.layer_norm(m, (16,)), "train": train,
        "event": lambda: event.record(), "query x4": lambda: [event.query() for _ in range(4)],
        "graph": graph.replay, "sync": lambda: (x.add_(1), torch.cuda.synchronize()),
        "item": lambda: x[0].item(), "copy": lambda: x.copy_(host), "deep 20": lambda: deep(20, x),
    }


def turn_ns(loop):
    loop()
    torch.cuda.synchronize()
    started = time.perf_counter_ns()
    for _ in range(TURNS):
        loop()
    elapsed = time.perf_counter_ns() - started
    torch.cuda.synchronize()
    return elapsed / TURNS


def alone(loop):
    return min(turn_ns(loop) for _ in range(ROUNDS))


def events_of(path):
    counts = dict.fromkeys(KINDS, 0)
    counts["calls"] = {}
    with open(path) as file:
        for event in json.load(file)["traceEvents"]:
            kind = event.get("cat")
            kind = "cuda_runtime" if kind == "cuda_driver" else kind
            if event.get("ph") == "X" and kind in counts:
                counts[kind] += 1
                if kind == "cuda_runtime":
                    counts["calls"].setdefault(event["name"], []).append(event["dur"])
    return counts


def profiled(loop, **settings):
    times, counts = [], None
    for _ in range(3):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=False, **settings) as p:
            times.append(turn_ns(loop))
        if counts is None:
            with tempfile.NamedTemporaryFile(suffix=".json") as file:
                p.export_chrome_trace(file.name)
                counts = events_of(file.name)
    return min(times), counts


def save_traces(loops, folder):
    """Short traces of loops whose time alone is known: the truth for what ridge predicts without the profiler."""
    for name in ("add x4", "train", "layer_norm"):
        for setting, options in (("plain", {}), ("stack", {"with_stack": True})):
            loops[name]()
            torch.cuda.synchronize()
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=False, **options) as p:
                for _ in range(12 if name == "train" else 100):
                    loops[name]()
                torch.cuda.synchronize()
            p.export_chrome_trace(os.path.join(folder, f"{name.replace(' ', '-')}-{setting}.json.gz"))


def fit(rows, kinds):
    """Least squares of the extra time per turn over events per turn, weighted by 1/time, non-negative."""
    active = list(kinds)
    while active:
        n = len(active)
        a = [[0.0] * (n + 1) for _ in range(n)]
        for row in rows:
            weight = 1 / max(row["extra"], 500) ** 2
            for i in range(n):
                for k in range(n):
                    a[i][k] += weight * row[active[i]] * row[active[k]]
                a[i][n] += weight * row[active[i]] * row["extra"]
        for i in range(n):
            pivot = a[i][i] or 1e-12
            a[i] = [v / pivot for v in a[i]]
            for k in range(n):
                if k != i:
                    a[k] = [u - a[k][i] * v for u, v in zip(a[k], a[i])]
        result = {kind: a[i][n] for i, kind in enumerate(active)}
        negative = [kind for kind in active if result[kind] < 0]
        if not negative:
            return result
        active.remove(min(negative, key=result.get))
    return {}


def measure_torch(loops, base):
    settings = {
        "plain": {}, "shapes": {"record_shapes": True}, "stack": {"with_stack": True},
    }
    results = {}
    for name, options in settings.items():
        rows = []
        for loop_name, loop in loops.items():
            try:
                under, counts = profiled(loop, **options)
            except Exception as error:  # a loop that cannot be profiled is left out
                print(name, loop_name, error)
                continue
            row = {"loop": loop_name, "alone": base[loop_name], "under": under, "extra": under - base[loop_name]}
            row.update({kind: counts[kind] / (TURNS + 1) for kind in KINDS})
            row["call_ns"] = {n: 1000 * statistics.median(d) for n, d in counts["calls"].items()}
            rows.append(row)
        cost = fit(rows, KINDS)
        for row in rows:
            row["fitted"] = sum(cost.get(kind, 0) * row[kind] for kind in KINDS)
        results[name] = {"cost": cost, "rows": rows}
        print(name, {k: round(v) for k, v in cost.items()})
        for row in rows:
            print(f"  {row['loop']:12} alone {row['alone']:9.0f} under {row['under']:9.0f} extra {row['extra']:9.0f} "
                  f"fitted {row['fitted']:9.0f}  " + " ".join(f"{k}={row[k]:.1f}" for k in KINDS))
    return results


def measure_nsys(base):
    nsys = shutil.which("nsys")
    if not nsys:
        print("nsys: not installed")
        return None
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p")
        run = subprocess.run([nsys, "profile", "-t", "cuda", "-s", "none", "--cpuctxsw=none", "-o", path, "--export=sqlite",
                              sys.executable, __file__, "--loops"], capture_output=True, text=True, timeout=90)
        for line in run.stdout.splitlines():
            if line.startswith("loop\t"):
                _, name, ns = line.split("\t")
                rows.append({"loop": name, "alone": base[name], "under": float(ns), "extra": float(ns) - base[name]})
        print(run.stderr[-500:])
    for row in rows:
        print("  nsys", row)
    return rows


def main():
    if sys.argv[1:] == ["--loops"]:
        for name, loop in make_loops().items():
            print(f"loop\t{name}\t{alone(loop)}")
        return
    loops = make_loops()
    base = {name: alone(loop) for name, loop in loops.items()}
    # Without a profiler only, and before one was used: CUPTI may stay attached afterwards.
    launch = {name: statistics.median(turn_ns(loop) for _ in range(3)) for name, loop in loops.items()}
    results = {"machine": torch.cuda.get_device_name(), "torch": torch.__version__, "alone": base, "again": launch}
    results["nsys"] = measure_nsys(base)
    results["torch.profiler"] = measure_torch(loops, base)
    if len(sys.argv) > 1:
        save_traces(loops, os.path.dirname(os.path.abspath(sys.argv[1])))
        with open(sys.argv[1], "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
