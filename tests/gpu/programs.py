"""Small CUDA programs that tests/gpu/recording.py records, one for each thing it looks at:

    python3 programs.py NAME [ARGUMENT]

Each prints what it computed or timed itself, so that the recording can be held against it."""

import ctypes
import os
import signal
import sys
import threading
import time


def step(torch, x, w, b):
    y = torch.relu(x @ w + b)
    z = torch.softmax(y, dim=-1)
    return (z * x).sum()


def loop(export=""):
    """Twenty steps with copies and a synchronization each; torch.profiler's export when asked."""
    import torch

    torch.manual_seed(0)
    x, w, b = (torch.randn(*shape, device="cuda") for shape in ((1024, 1024), (1024, 1024), (1024,)))
    host = torch.randn(256, 1024).pin_memory()

    def steps(count):
        for _ in range(count):
            x[:256].copy_(host, non_blocking=True)
            step(torch, x, w, b).item()
        torch.cuda.synchronize()

    steps(3)
    if export:
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            steps(20)
        profiler.export_chrome_trace(export)
    else:
        torch.cuda.profiler.start()
        steps(20)
        torch.cuda.profiler.stop()
    print("sum", float(x.sum()))


def model(torch):
    return torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(3)]).cuda()


def nvtx():
    """Three layers, each in a range of its own inside its step's."""
    import torch

    layers, x = model(torch), torch.randn(64, 512, device="cuda")
    for number in range(5):
        torch.cuda.nvtx.range_push(f"step {number}")
        y = x
        for i, layer in enumerate(layers):
            with torch.cuda.nvtx.range(f"layer {i}"):
                y = torch.relu(layer(y))
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()


def emit_nvtx():
    import torch

    layers, x = model(torch), torch.randn(64, 512, device="cuda")
    layers(x)
    with torch.autograd.profiler.emit_nvtx(record_shapes=True):
        layers(x).sum().backward()
    torch.cuda.synchronize()


def nvtx_package():
    import nvtx as package
    import torch

    x = torch.randn(512, 512, device="cuda")
    for _ in range(4):
        with package.annotate("outer", domain="mine"):
            with package.annotate("inner", domain="mine"):
                x @ x
    torch.cuda.synchronize()


def capture_range():
    """Ten launches, four of them inside a range that --capture-range may name."""
    import torch

    x = torch.zeros(4096, device="cuda")
    for i in range(10):
        if i == 3:
            torch.cuda.nvtx.range_push("wanted")
            torch.cuda.profiler.start()
        x.add_(1)
        if i == 6:
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()
            torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    print("sum", float(x.sum()))


def graph():
    import torch

    x = torch.zeros(4096, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            x.add_(1)
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        for _ in range(8):
            x.add_(1)
    for _ in range(25):
        captured.replay()
    torch.cuda.synchronize()
    print("sum", float(x[0]))


def streams():
    """Ten times one queue waits for another's event, and the host for both; a graph is captured in two."""
    import torch

    x, y = torch.zeros(1 << 20, device="cuda"), torch.zeros(1 << 20, device="cuda")
    first, second, event = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Event()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    for _ in range(10):
        with torch.cuda.stream(first):
            x.add_(1)
            event.record()
        second.wait_event(event)
        with torch.cuda.stream(second):
            y.add_(x)
        event.synchronize()
        second.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        here = torch.cuda.current_stream()
        first.wait_stream(here)
        with torch.cuda.stream(first):
            x.add_(1)
        y.add_(1)
        here.wait_stream(first)
    captured.replay()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()
    print("sum", float(y[0]))


def cupy():
    import cupy

    x = cupy.random.rand(4096, 4096, dtype=cupy.float32)
    cupy.matmul(x, x)
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    cupy.cuda.Device().synchronize()
    start.record()
    for _ in range(50):
        cupy.matmul(x, x)
    end.record()
    end.synchronize()
    print("event_ms", cupy.cuda.get_elapsed_time(start, end))


def jax():
    import jax
    import jax.numpy as jnp

    x = jnp.ones((1024, 1024), jnp.float32)
    f = jax.jit(lambda a: jnp.tanh(a @ a).sum())
    for _ in range(10):
        f(x).block_until_ready()
    print("sum", float(f(x)))


def triton():
    import torch
    import triton as language_host
    import triton.language as tl

    @language_host.jit
    def add_one(pointer, count, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(pointer + at, tl.load(pointer + at, mask=at < count) + 1, mask=at < count)

    x = torch.zeros(100000, device="cuda")
    for _ in range(30):
        add_one[(language_host.cdiv(x.numel(), 1024),)](x, x.numel(), BLOCK=1024)
    torch.cuda.synchronize()
    print("sum", float(x[0]))


def launches(torch, count):
    x = torch.zeros(32, device="cuda")
    for _ in range(count):
        x.add_(1)
    torch.cuda.synchronize()
    time.sleep(0.5)  # longer than the last flush may be old
    return x


def killed():
    import torch

    launches(torch, 1000)
    os.kill(os.getpid(), signal.SIGKILL)


def killed_busy():
    """A device that always has work queued: only what it has done can be in the trace."""
    import torch

    x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    for _ in range(10):
        y = x @ x
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    began = time.monotonic()
    while time.monotonic() < began + 3:
        y = x @ x
    print(time.monotonic() - began, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def crash():
    import torch

    launches(torch, 1000)
    ctypes.string_at(0)


def leave():
    import torch

    launches(torch, 1000)
    os._exit(3)


def leave_from_thread():
    import torch

    def end():
        launches(torch, 1000)
        os._exit(4)

    threading.Thread(target=end).start()
    time.sleep(60)


def fork():
    """A child without exec that goes on for a while, beside its parent."""
    import torch

    launches(torch, 500)
    child = os.fork()
    if child == 0:
        time.sleep(0.2)
        os._exit(7)
    x = launches(torch, 500)
    _, status = os.waitpid(child, 0)
    print("child", os.waitstatus_to_exitcode(status), "last", float(x[0]))


def out_of_memory():
    import torch

    try:
        torch.empty(1 << 50, device="cuda")
    except torch.OutOfMemoryError:
        x = launches(torch, 100)
        print("refused, went on", float(x[0]))


def out_of_host_memory():
    """The target has no memory left for anybody, its guest included."""
    import resource

    import torch

    launches(torch, 100)
    used = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), used + (1 << 20)))
    kept, caught = [], 0
    try:
        while True:
            kept.append(bytearray(1 << 20))
    except MemoryError:
        caught = 1
    del kept
    x = launches(torch, 100)
    print("caught", caught, "last", float(x[0]))


def own_profiler():
    """The program profiles itself; its own result must not change."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    x = torch.zeros(32, device="cuda")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(100):
            x.add_(1)
        torch.cuda.synchronize()
    host = [event.time_range.start for event in profiler.events() if event.device_type.name == "CPU"]
    kernels = [event.time_range.start for event in profiler.events() if event.device_type.name == "CUDA"]
    on_time = all(min(host) - 1e4 <= start <= max(host) + 1e6 for start in kernels)  # microseconds
    print("kernels of its own", len(kernels), "on the host's clock" if on_time else "on another clock")


def million(count=1000000):
    import torch

    x = torch.zeros(32, device="cuda")
    for i in range(count):
        x.add_(1)
        if i % 1000 == 999:
            torch.cuda.synchronize()
    print("last", float(x[0]))


def many():
    million(200000)


def main():
    programs = {name: value for name, value in globals().items() if callable(value) and name not in ("main", "step", "model", "launches")}
    programs[sys.argv[1]](*sys.argv[2:])


main()
