"""The loops that tests/bench/overhead records. Prints the best round's time for one turn:

    python3 overhead_loop.py tiny|large|cpu [torch.profiler|proton]

tiny launches kernels that do next to nothing, large ones that keep the device busy, cpu none at all."""

import sys
import time

ROUNDS = 5
BETWEEN_WAITS = 500


def tiny(torch):
    x = torch.zeros(32, device="cuda")

    def turns(count=20000):
        for i in range(count):
            x.add_(1)
            if i % BETWEEN_WAITS == BETWEEN_WAITS - 1:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
        return count

    return turns


def large(torch):
    x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)

    def turns(count=500):
        for _ in range(count):
            torch.tanh(x @ x)
        torch.cuda.synchronize()
        return count

    return turns


def cpu():
    def turns(count=2000):
        total = 0
        for i in range(count):
            for k in range(1000):
                total += i ^ k
        return count

    return turns


def best_of(turns):
    turns()
    best = None
    for _ in range(ROUNDS):
        start = time.perf_counter()
        count = turns()
        taken = (time.perf_counter() - start) / count
        best = taken if best is None else min(best, taken)
    return best


def main():
    loop, way = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    if loop == "cpu":
        turns = cpu()
    else:
        import torch

        turns = {"tiny": tiny, "large": large}[loop](torch)
    if way == "torch.profiler":
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=True):
            best = best_of(turns)
    elif way == "proton":
        import tempfile

        import triton.profiler as proton

        with tempfile.TemporaryDirectory() as folder:
            proton.start(folder + "/profile")
            best = best_of(turns)
            proton.finalize()
    else:
        best = best_of(turns)
    print(f"{best * 1e6:.3f} us", flush=True)


main()
