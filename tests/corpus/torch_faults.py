"""Faults that PyTorch programs have, each beside what it should have been. A fault takes the device,
the time that its base's step takes alone (ns) and how much of it there should be, and returns a Fault.

`faulty` and the functions in `mended` do the same work in the bad and in a good way: the difference of
their times is what the fault costs. `mended` is by the finding whose advice it follows, as a fault
may be mended in two ways (tiny kernels: one graph, or one kernel)."""

import time

import numpy
import torch

from torch_bases import Block


class Fault:
    def __init__(self, place, faulty, **mended):
        self.place = place  # "before" the base's step, "between" its layers, or "after" it
        self.faulty = faulty
        self.mended = {key.replace("_", "-"): work for key, work in mended.items()}


def nothing(*ignored):
    pass


def megabytes(gpu, amount):
    return int(gpu.size(amount * 1e6, 4096)) // 4


# ---- launches ----


def launch_chain(gpu, unit, count):
    """Hundreds of kernels that do next to nothing."""
    x = torch.zeros(1024, device=gpu.device)

    def tiny():
        for _ in range(int(count)):
            x.add_(1)

    graph = gpu.graph(tiny)
    return Fault("after", lambda i, y: tiny(), launch_bound=lambda i, y: graph(), tiny_kernels=lambda i, y: x.add_(count))


def launch_mixed(gpu, unit, count):
    """A small recurrent cell, unrolled: little products and element-wise kernels in turns."""
    width = 256
    w = torch.randn(width, width, device=gpu.device) / 16
    x, h = torch.randn(8, width, device=gpu.device), torch.zeros(8, width, device=gpu.device)

    def unrolled():
        with torch.inference_mode():
            state = h
            for _ in range(int(count)):
                gate = torch.sigmoid(state @ w + x)
                state = gate * state + (1 - gate) * torch.tanh(x)

    graph = gpu.graph(unrolled)
    return Fault("after", lambda i, y: unrolled(), launch_bound=lambda i, y: graph())


def launch_blocks(gpu, unit, count):
    """Small transformer blocks, one kernel at a time."""
    width = gpu.size(512, 32)
    blocks = [Block(width, 8).to(gpu.device, torch.bfloat16).eval() for _ in range(int(count))]
    x = torch.randn(1, gpu.size(64, 8), width, device=gpu.device, dtype=torch.bfloat16)

    def forward():
        with torch.inference_mode():
            y = x
            for block in blocks:
                y = block(y)

    graph = gpu.graph(forward)
    return Fault("after", lambda i, y: forward(), launch_bound=lambda i, y: graph())


# ---- waiting for the device ----


def sync_item(gpu, unit, count):
    """A value of the step is read back, as a loss that is logged."""

    def read(i, y):
        for _ in range(int(count)):
            y[(0,) * y.dim()].item()

    return Fault("after", read, sync_in_loop=nothing)


def sync_seldom(gpu, unit, every):
    """No fault: a value is read back once in many steps."""

    def read(i, y):
        if i % int(every) == int(every) - 1:
            y[(0,) * y.dim()].item()

    return Fault("after", read, healthy=read)


def sync_layers(gpu, unit, count):
    """The device is waited for after each layer, as by a timer that was left in."""
    return Fault("between", gpu.synchronize, sync_in_loop=nothing)


def sync_nonzero(gpu, unit, count):
    """A result whose size must be known on the host; mended, one of a known size."""
    x = torch.randn(4096, device=gpu.device)

    def choose():
        for _ in range(int(count)):
            x.nonzero()

    return Fault("between", choose, sync_in_loop=lambda: (x > 0).sum())


def sync_cpu(gpu, unit, count):
    """A small tensor goes to the host after each layer."""
    x = torch.randn(16, device=gpu.device)
    return Fault("between", lambda: x.cpu(), sync_in_loop=nothing)


# ---- copies ----


def small_copies(gpu, unit, count, kilobytes=16, pinned=True):
    """Many small copies where one would do."""
    length = int(kilobytes * 1024) // 4
    host = torch.zeros(int(count), length)
    host = gpu.pinned(host) if pinned else host
    device = torch.empty(int(count), length, device=gpu.device)

    def each(i):
        for row in range(int(count)):
            device[row].copy_(host[row], non_blocking=True)

    return Fault("before", each, small_transfers=lambda i: device.copy_(host, non_blocking=True))


def small_copies_pageable(gpu, unit, count):
    return small_copies(gpu, unit, count, 32, False)


def large_copy(gpu, unit, amount, back=False):
    """A large copy in the kernels' own stream; mended, in a stream beside it, a step ahead."""
    host = gpu.pinned(torch.zeros(megabytes(gpu, amount)))
    device = [torch.empty_like(host, device=gpu.device) for _ in range(2)]

    def copy(which):
        if back:
            host.copy_(device[which], non_blocking=True)
        else:
            device[which].copy_(host, non_blocking=True)

    if not gpu.real:
        return Fault("before", lambda i: copy(0), exposed_transfers=lambda i: copy(1))
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()

    def ahead(i):
        before = main.record_event()  # what used the other buffer
        main.wait_stream(side)
        side.wait_event(before)
        with torch.cuda.stream(side):
            copy(i % 2)

    return Fault("before", lambda i: copy(0), exposed_transfers=ahead)


def large_copy_back(gpu, unit, amount):
    return large_copy(gpu, unit, amount, True)


def pageable(gpu, unit, amount, pieces=1):
    """Input from pageable memory; mended, from pinned memory without waiting."""
    pieces = int(pieces)
    host = [torch.zeros(megabytes(gpu, amount / pieces)) for _ in range(pieces)]
    pinned = [gpu.pinned(part) for part in host]
    device = [torch.empty_like(part, device=gpu.device) for part in host]

    def plain(i):
        for part, target in zip(host, device):
            target.copy_(part)

    def good(i):
        for part, target in zip(pinned, device):
            target.copy_(part, non_blocking=True)

    return Fault("before", plain, pageable=good)


def pageable_pieces(gpu, unit, amount):
    return pageable(gpu, unit, amount, 4)


def pageable_back(gpu, unit, amount):
    """Results go to pageable memory."""
    device = torch.zeros(megabytes(gpu, amount), device=gpu.device)
    host = torch.zeros(device.shape)
    pinned = gpu.pinned(host)
    return Fault("after", lambda i, y: host.copy_(device), pageable=lambda i, y: pinned.copy_(device, non_blocking=True))


# ---- the host's own work ----


def burn(ns):
    end = time.perf_counter_ns() + ns
    total = 0
    while time.perf_counter_ns() < end:
        total += 1
    return total


def host_sleep(gpu, unit, times):
    """The program waits for something else than the device."""
    return Fault("before", lambda i: time.sleep(times * unit / 1e9), host_bound=nothing)


def host_busy(gpu, unit, times):
    """Python computes between the steps."""

    def augment_batch(i):
        with gpu.range("augment batch"):
            burn(times * unit)

    return Fault("before", augment_batch, host_bound=nothing)


def host_numpy(gpu, unit, times):
    """NumPy works on arrays between the steps."""
    array = numpy.random.default_rng(0).standard_normal(1 << 16)

    def tokenize(i):
        end = time.perf_counter_ns() + times * unit
        while time.perf_counter_ns() < end:
            numpy.sort(array)

    def named(i):
        with gpu.range("tokenize"):
            tokenize(i)

    return Fault("before", named, host_bound=nothing)


class SlowImages(torch.utils.data.Dataset):
    def __init__(self, ns):
        self.ns, self.item = ns, torch.zeros(64)

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        if self.ns:
            burn(self.ns / 8)
        return self.item


def input_loader(gpu, unit, times):
    """A DataLoader without workers whose items take long to make."""
    slow, quick = [iter(torch.utils.data.DataLoader(SlowImages(ns), batch_size=8)) for ns in (times * unit, 0)]

    def following(source):
        def take(i):
            with gpu.range("next batch"):
                next(source)

        return take

    return Fault("before", following(slow), input_pipeline=following(quick))


# ---- memory and code made inside the loop ----


def allocation_cache(gpu, unit, count):
    """The allocator's cache is emptied each step."""
    length = megabytes(gpu, 32)

    def work():
        for k in range(int(count)):
            torch.empty(length + k * 1024 * 1024, device=gpu.device).add_(1)

    def emptied(i, y):
        work()
        gpu.empty_cache()

    return Fault("after", emptied, allocation=lambda i, y: work())


def allocation_driver(gpu, unit, count):
    """Buffers are allocated and freed by the driver each step."""

    def each(i):
        for address in [gpu.allocate(gpu.size(16 << 20, 64)) for _ in range(int(count))]:
            gpu.free(address)

    return Fault("before", each, allocation=nothing)


def kernel_source(number, length):
    lines = "\n".join(f"    value = value * {1 + k % 7}.5f + {number % 1000}.{k}f; if (value > {k}.0f) value = sqrtf(value);" for k in range(int(length)))
    return f'extern "C" __global__ void generated(float *x) {{\n    float value = x[threadIdx.x];\n{lines}\n    x[threadIdx.x] = value;\n}}\n'


def compile_source(gpu, unit, length):
    """NVRTC compiles a kernel each step."""
    turns = [0]

    def compiled(i):
        turns[0] += 1
        if gpu.real:
            gpu.unload(gpu.load(gpu.compile(kernel_source(turns[0], length))))

    return Fault("before", compiled, compilation=nothing)


def compile_ptx(gpu, unit, length):
    """The driver compiles PTX each step."""
    code = gpu.compile(kernel_source(1, length), True).value if gpu.real else b""
    turns = [0]

    def compiled(i):
        turns[0] += 1
        if gpu.real:
            gpu.unload(gpu.load(code.rstrip(b"\0") + b"\n// %d" % turns[0] + b"\0"))

    return Fault("before", compiled, compilation=nothing)


FAULTS = {
    word.__name__: word
    for word in (
        launch_chain, launch_mixed, launch_blocks, sync_item, sync_seldom, sync_layers, sync_nonzero, sync_cpu, small_copies, small_copies_pageable,
        large_copy, large_copy_back, pageable, pageable_pieces, pageable_back, host_sleep, host_busy, host_numpy, input_loader,
        allocation_cache, allocation_driver, compile_source, compile_ptx,
    )
}  # fmt: skip
