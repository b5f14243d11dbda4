"""Runs one case of the corpus on PyTorch and writes down how long its variants took:

    python3 torch_program.py CASE --result FILE [--device cuda|cpu] [--record VARIANT] [--manner captured|whole|profiler]

`captured`: all variants in turns, several rounds; one further round of the variant that is to be recorded
lies between cudaProfilerStart() and cudaProfilerStop(), for `ridge record --capture-range cudaProfilerApi`.
`whole`: that variant alone, to be recorded from beginning to end. `profiler`: in turns, each round under
torch.profiler, whose last trace of the variant is kept as --trace FILE.json.gz."""

import argparse
import fcntl
import json
import statistics
import time

import cases

ROUNDS_MIN, ROUNDS_MAX, ROUNDS_SECONDS = 3, 7, 0.5
WARM_UP_SECONDS = 0.2


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--result", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--record", default="faulty")
    parser.add_argument("--manner", default="captured")
    parser.add_argument("--trace")
    parser.add_argument("--unit", type=float, default=0, help="the base's step in ns, where another run measured it")
    parser.add_argument("--lock", help="a file that only one process at a time may hold while it uses the device")
    return parser.parse_args()


def time_steps(gpu, step, steps):
    gpu.synchronize()
    start = time.perf_counter_ns()
    for i in range(steps):
        step(i)
    gpu.synchronize()
    return time.perf_counter_ns() - start


def make_step(gpu, base, hooks, outer):
    """One step of the base with the functions of `hooks`, which are (place, function)."""
    before, between, after = ([work for place, work in hooks if place == where] for where in ("before", "between", "after"))

    def all_between():
        for work in between:
            work()

    def step(i):
        with outer("step"):
            for work in before:
                work(i)
            y = base(all_between)
            for work in after:
                work(i, y)

    return step


class NoRange:
    def __init__(self, name):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *ignored):
        pass


def as_graph(gpu, base):
    replay = gpu.graph(lambda: base(lambda: None))
    return lambda between: replay()


def build(gpu, case, unit):
    """Name -> step: "faulty", and "without KEY" for each fault that is mended."""
    import torch_bases
    import torch_faults
    import torch_kernel_faults

    base = torch_bases.BASES[case["base"]](gpu, case["amount"])
    if case.get("graphed"):
        base = as_graph(gpu, base)
    if not unit:
        alone = make_step(gpu, base, [], NoRange)
        time_steps(gpu, alone, 3)
        unit = max(time_steps(gpu, alone, 10) / 10, 200e3)
    known = {**torch_faults.FAULTS, **torch_kernel_faults.FAULTS}
    faults = [known[name](gpu, unit, amount) for name, amount in case["faults"]]
    outer = gpu.range if case.get("ranges") else NoRange
    if case.get("mended"):  # a healthy control that does what the fault's advice says
        return {"faulty": make_step(gpu, base, [(f.place, next(iter(f.mended.values()))) for f in faults], outer)}, unit
    variants = {"faulty": make_step(gpu, base, [(f.place, f.faulty) for f in faults], outer)}
    for fault in faults:
        others = [(f.place, f.faulty) for f in faults if f is not fault]
        for key, work in fault.mended.items():
            variants["without " + key] = make_step(gpu, base, [(fault.place, work)] + others, outer)
    return variants, unit


def warm_up(gpu, variants, steps):
    for step in variants.values():
        step(0), step(1)
    gpu.synchronize()
    end = time.perf_counter() + (WARM_UP_SECONDS if gpu.real else 0)
    while time.perf_counter() < end:
        for step in variants.values():
            time_steps(gpu, step, min(steps, 3))


def rounds_of(gpu, variants, steps, one_round):
    """Variant -> times, the variants taking turns so that what drifts meets them all."""
    times = {name: [] for name in variants}
    end = time.perf_counter() + ROUNDS_SECONDS
    for turn in range(ROUNDS_MAX):
        if turn >= (ROUNDS_MIN if len(variants) > 1 else 2) and time.perf_counter() > end:
            break
        for name, step in variants.items():
            times[name].append(one_round(name, step))
    return times


def run_captured(gpu, case, arguments, variants):
    import torch

    steps = case["steps"]
    gpu.ranges = case.get("ranges", False)
    warm_up(gpu, variants, steps)
    times = rounds_of(gpu, variants, steps, lambda name, step: time_steps(gpu, step, steps))
    if gpu.real:
        torch.cuda.profiler.start()
    recorded = time_steps(gpu, variants[arguments.record], steps)
    if gpu.real:
        torch.cuda.profiler.stop()
    return times, recorded


def run_whole(gpu, case, arguments, variants):
    step = variants[arguments.record]
    gpu.ranges = case.get("ranges", False)
    time_steps(gpu, step, 3)
    recorded = time_steps(gpu, step, case["steps"])
    times = {}
    if arguments.record != "faulty":  # its trace is not kept: the times of all rounds count
        times[arguments.record] = [recorded] + [time_steps(gpu, step, case["steps"]) for _ in range(2)]
    return times, recorded


def run_profiler(gpu, case, arguments, variants):
    from torch.profiler import ProfilerActivity, profile

    kinds = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if gpu.real else [])
    recorded = [0]
    warm_up(gpu, variants, case["steps"])

    def one_round(name, step):
        with profile(activities=kinds, record_shapes=True, acc_events=True) as profiler:
            taken = time_steps(gpu, step, case["steps"])
        if name == arguments.record:
            profiler.export_chrome_trace(arguments.trace)
            recorded[0] = taken
        return taken

    with profile(activities=kinds):  # the first start of the profiler is slow
        variants["faulty"](0)
    return rounds_of(gpu, variants, case["steps"], one_round), recorded[0]


def operators(gpu, case):
    """Names PyTorch's operators and their shapes in the trace, where the case wants that."""
    import torch

    return torch.autograd.profiler.emit_nvtx(enabled=gpu.real and case.get("operators", False), record_shapes=True)


def main():
    arguments = read_arguments()
    case = cases.find(arguments.case)
    import torch

    from gpu import Gpu

    lock = open(arguments.lock, "w") if arguments.lock else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    gpu = Gpu(arguments.device)
    variants, unit = build(gpu, case, arguments.unit)
    if not gpu.real:
        case = dict(case, steps=3)
    manner = {"captured": run_captured, "whole": run_whole, "profiler": run_profiler}[arguments.manner]
    with operators(gpu, case):
        times, recorded = manner(gpu, case, arguments, variants)
    result = {
        "times_ns": {name: int(statistics.median(list_)) for name, list_ in times.items()},
        "rounds": {name: len(list_) for name, list_ in times.items()},
        "recorded_ns": recorded,
        "unit_ns": unit,
        "device": torch.cuda.get_device_name(0) if gpu.real else "cpu",
        "torch": torch.__version__.split("+")[0],
    }
    with open(arguments.result, "w") as file:
        json.dump(result, file)
    if lock:
        fcntl.flock(lock, fcntl.LOCK_UN)


main()
