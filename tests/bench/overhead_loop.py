"""The loops that tests/bench/overhead records:

    python3 overhead_loop.py LOOP [torch.profiler|proton]

Says "ready", and then for each line that it reads does one round and prints its microseconds a turn.
tiny launches kernels that do next to nothing, copies copies a few bytes to the device and back, waits
launches such a kernel and waits for its stream, events records an event and waits for it. products and
large keep the device busy (and cuBLAS clears a workspace for each). cpu computes in one function of
Python, calls calls one all the time."""

import sys
import tempfile
import time

BETWEEN_WAITS = 500


def tiny(torch):
    x = torch.zeros(32, device="cuda")

    def turns(count=4000):
        for i in range(count):
            x.add_(1)
            if i % BETWEEN_WAITS == BETWEEN_WAITS - 1:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
        return count

    return turns


def copies(torch):
    host = torch.zeros(32).pin_memory()
    device = torch.zeros(32, device="cuda")

    def turns(count=2000):
        for i in range(count):
            device.copy_(host, non_blocking=True)
            host.copy_(device, non_blocking=True)
            if i % BETWEEN_WAITS == BETWEEN_WAITS - 1:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
        return count

    return turns


def waits(torch):
    x = torch.zeros(32, device="cuda")
    stream = torch.cuda.current_stream()

    def turns(count=2000):
        for _ in range(count):
            x.add_(1)
            stream.synchronize()
        return count

    return turns


def events(torch):
    x = torch.zeros(32, device="cuda")
    event = torch.cuda.Event()

    def turns(count=2000):
        for _ in range(count):
            x.add_(1)
            event.record()
            event.synchronize()
        return count

    return turns


def products(torch, size=4096, count=100):
    x = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)

    def turns():
        for _ in range(count):
            torch.tanh(x @ x)
        torch.cuda.synchronize()
        return count

    return turns


def large(torch):
    return products(torch, size=8192, count=20)


def cpu():
    def turns(count=2000):
        total = 0
        for i in range(count):
            for k in range(1000):
                total += i ^ k
        return count

    return turns


def called(x):
    return x + 1


def calls():
    def turns(count=200000):
        total = 0
        for _ in range(count):
            total = called(total)
        return count

    return turns


def serve(turns):
    turns()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        count = turns()
        print(f"{(time.perf_counter() - start) / count * 1e6:.4f}", flush=True)


def main():
    loop, way = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    on_cpu = {"cpu": cpu, "calls": calls}
    if loop in on_cpu:
        turns = on_cpu[loop]()
    else:
        import torch

        turns = {"tiny": tiny, "copies": copies, "waits": waits, "events": events, "products": products, "large": large}[loop](torch)
    if way == "torch.profiler":
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=True):
            serve(turns)
    elif way == "proton":
        import triton.profiler as proton

        with tempfile.TemporaryDirectory() as folder:
            proton.start(folder + "/profile")
            serve(turns)
            proton.finalize()
    else:
        serve(turns)


main()
