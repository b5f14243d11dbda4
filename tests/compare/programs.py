"""Pairs of PyTorch programs that differ in one known change, for scoring the first sentence of `ridge diff`:

    python3 programs.py list                           names of all pairs
    python3 programs.py run PAIR a|b --result FILE [--trace FILE.json.gz] [--lock FILE] [--ready FOLDER --others N]
    python3 programs.py busy                           keeps the device busy until it is killed

A pair is (name, manner, expectation, make): make(gpu, changed) returns a function for one step. The expectation
is a regular expression that the first sentence must match, written before the rules were tuned. `captured`: to be
recorded by `ridge record --capture-range cudaProfilerApi`. `profiler`: under torch.profiler, with operators and
shapes. `sampled`: captured, with CPU samples. `clock`: captured, side b at a lower clock. `shared`: captured, side b
beside a process that keeps the device busy (`programs.py busy`). `tools`: side b under torch.profiler."""

import argparse
import ctypes
import fcntl
import json
import os
import statistics
import sys
import time

PAIRS = []


def pair(name, expected, manner="captured"):
    def add(make):
        PAIRS.append({"name": name, "manner": manner, "expected": expected, "make": make})
        return make

    return add


def mlp(torch, gpu, width=512, layers=4, batch=1024, dtype=None):
    parts = []
    for _ in range(layers):
        parts += [torch.nn.Linear(width, width), torch.nn.ReLU()]
    return torch.nn.Sequential(*parts).to(gpu.device, dtype or torch.bfloat16), torch.randn(
        batch, width, device=gpu.device, dtype=dtype or torch.bfloat16
    )


def training(torch, model, x, optimizer, none=True):
    def step(i):
        optimizer.zero_grad(set_to_none=none)
        loss = model(x).float().square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


# ---- fewer kernels ----


@pair("fuse-chain", r"fus|replaced|became|20 (kernels|launches)")
def fuse_chain(gpu, changed):
    import torch

    x = torch.randn(1 << 22, device=gpu.device)
    y = torch.empty_like(x)
    count = (ctypes.c_longlong, x.numel())

    def step(i):
        if changed:
            gpu.launch("fused_chain", gpu.processors * 8, 256, x, y, count, (ctypes.c_int, 20))
            return
        z = x
        for k in range(20):
            z = torch.relu(z) if k % 2 else z * 0.999

    return step


@pair("fuse-compile", r"fus|replaced|became|triton", "profiler")
def fuse_compile(gpu, changed):
    import torch

    x = torch.randn(1 << 20, device=gpu.device)

    def work(x):
        y = torch.nn.functional.gelu(x) * torch.sigmoid(x) + x
        return torch.tanh(y) * 0.5 + y

    work = torch.compile(work) if changed else work
    return lambda i: work(x)


@pair("fuse-layer-norm", r"fus|replaced|became|layer_?norm")
def fuse_layer_norm(gpu, changed):
    import torch

    x = torch.randn(4096, 1024, device=gpu.device)
    weight = torch.ones(1024, device=gpu.device)

    def step(i):
        y = x
        for _ in range(4):
            if changed:
                y = torch.nn.functional.layer_norm(y, (1024,), weight)
            else:
                mean = y.mean(-1, keepdim=True)
                centred = y - mean
                y = centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5) * weight

    return step


@pair("fuse-attention", r"fus|replaced|became|flash|attention", "profiler")
def fuse_attention(gpu, changed):
    import torch

    q, k, v = (torch.randn(8, 16, 512, 64, device=gpu.device, dtype=torch.bfloat16) for _ in range(3))

    def step(i):
        if changed:
            torch.nn.functional.scaled_dot_product_attention(q, k, v)
        else:
            torch.softmax(q @ k.transpose(-1, -2) * 0.125, -1) @ v

    return step


@pair("fuse-adam", r"fus|replaced|became|adam|fewer (kernel|launch)")
def fuse_adam(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=3)
    how = {"fused": True} if changed else {"foreach": False}
    return training(torch, model, x, torch.optim.Adam(model.parameters(), **how))


@pair("foreach-sgd", r"fus|replaced|became|fewer (kernel|launch)|multi_tensor")
def foreach_sgd(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=4)
    return training(torch, model, x, torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, foreach=changed))


# ---- graphs ----


def graphed(gpu, changed, work):
    replay = gpu.graph(work) if changed else work
    return lambda i: replay()


@pair("graph-mlp", r"graph")
def graph_mlp(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=12, batch=32)
    model.eval()

    def work():
        with torch.no_grad():
            model(x)

    return graphed(gpu, changed, work)


@pair("graph-chain", r"graph")
def graph_chain(gpu, changed):
    import torch

    x = torch.randn(1 << 12, device=gpu.device)

    def work():
        for _ in range(40):
            x.mul_(0.999)

    return graphed(gpu, changed, work)


@pair("graph-removed", r"graph")
def graph_removed(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=8, batch=64)

    def work():
        with torch.no_grad():
            model(x)

    return graphed(gpu, not changed, work)


# ---- synchronisation ----


@pair("item-new", r"sync|item|DtoH|device-to-host")
def item_new(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=6, batch=256)

    @torch.no_grad()
    def step(i):
        y = model(x)
        if changed:
            y.sum().item()

    return step


@pair("item-removed", r"sync|item|DtoH|device-to-host")
def item_removed(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=2, batch=256)
    step = training(torch, model, x, torch.optim.SGD(model.parameters(), lr=1e-3))
    return step if changed else lambda i: step(i).item()


@pair("item-layers", r"sync|item|DtoH|device-to-host", "profiler")
def item_layers(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=6, batch=256)

    @torch.no_grad()
    def step(i):
        y = x
        for layer in model:
            y = layer(y)
            if changed:
                y[0, 0].item()

    return step


@pair("synchronize-removed", r"sync")
def synchronize_removed(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=8, batch=512)

    @torch.no_grad()
    def step(i):
        y = x
        for layer in model:
            y = layer(y)
            if not changed:
                gpu.synchronize()

    return step


@pair("nonzero-removed", r"sync|nonzero|fewer (kernel|launch)|replaced|became|gone")
def nonzero_removed(gpu, changed):
    import torch

    x = torch.randn(1 << 16, device=gpu.device)

    def step(i):
        for _ in range(4):
            if changed:
                torch.where(x > 0, x, 0.0).sum()
            else:
                x[x > 0].sum()

    return step


@pair("item-seldom", r"sync|item|DtoH|device-to-host")
def item_seldom(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=6, batch=256)

    @torch.no_grad()
    def step(i):
        y = model(x)
        if changed and i % 2:
            y.sum().item()

    return step


# ---- copies ----


def copying(gpu, size, pinned, wait=False):
    import torch

    host = torch.randn(size)
    host = gpu.pinned(host) if pinned else host
    model, x = mlp(torch, gpu, layers=2, batch=1024)

    @torch.no_grad()
    def step(i):
        host.to(gpu.device, non_blocking=pinned)
        model(x)

    return step


@pair("pinned-4m", r"pinned|pageable")
def pinned_small(gpu, changed):
    return copying(gpu, 1 << 20, changed)


@pair("pinned-32m", r"pinned|pageable")
def pinned_large(gpu, changed):
    return copying(gpu, 1 << 23, changed)


@pair("pageable-new", r"pinned|pageable", "profiler")
def pageable_new(gpu, changed):
    return copying(gpu, 1 << 22, not changed)


@pair("copy-gone", r"cop(y|ies)|HtoD|host-to-device")
def copy_gone(gpu, changed):
    import torch

    host = gpu.pinned(torch.randn(1 << 22))
    model, x = mlp(torch, gpu, layers=2)

    @torch.no_grad()
    def step(i):
        if not changed:
            host.to(gpu.device, non_blocking=True)
        model(x)

    return step


@pair("copy-larger", r"cop(y|ies)|HtoD|host-to-device|bytes")
def copy_larger(gpu, changed):
    return copying(gpu, (1 << 20) * (8 if changed else 2), True)


@pair("copies-small", r"cop(y|ies)|HtoD|host-to-device")
def copies_small(gpu, changed):
    import torch

    parts = [gpu.pinned(torch.randn(256)) for _ in range(60)]
    whole = gpu.pinned(torch.randn(256 * 60))
    model, x = mlp(torch, gpu, layers=2)

    @torch.no_grad()
    def step(i):
        if changed:
            whole.to(gpu.device, non_blocking=True)
        else:
            for part in parts:
                part.to(gpu.device, non_blocking=True)
        model(x)

    return step


@pair("copy-hidden", r"cop(y|ies)|overlap|hidden")
def copy_hidden(gpu, changed):
    import torch

    host = gpu.pinned(torch.randn(1 << 22))
    target = torch.empty(1 << 22, device=gpu.device)
    model, x = mlp(torch, gpu, width=2048, layers=4, batch=4096)
    stream = torch.cuda.Stream() if gpu.real else None

    @torch.no_grad()
    def step(i):
        if changed and stream:
            with torch.cuda.stream(stream):
                target.copy_(host, non_blocking=True)
        else:
            target.copy_(host, non_blocking=True)
        model(x)

    return step


@pair("read-back-new", r"cop(y|ies)|DtoH|device-to-host|sync")
def read_back_new(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=4)

    @torch.no_grad()
    def step(i):
        y = model(x)
        if changed:
            y.cpu()

    return step


# ---- shapes and types ----


@pair("batch-double", r"shape|batch|larger|grid|work|slower")
def batch_double(gpu, changed):
    import torch

    x = torch.randn(1 << (23 if changed else 22), device=gpu.device)
    return lambda i: torch.tanh(x * 0.5).relu_()


@pair("batch-gemm", r"shape|batch", "profiler")
def batch_gemm(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=3, batch=8192 if changed else 4096)

    @torch.no_grad()
    def step(i):
        model(x)

    return step


@pair("sequence-longer", r"shape|batch|sequence", "profiler")
def sequence_longer(gpu, changed):
    import torch

    q, k, v = (torch.randn(8, 16, 2048 if changed else 1024, 64, device=gpu.device, dtype=torch.bfloat16) for _ in range(3))
    return lambda i: torch.nn.functional.scaled_dot_product_attention(q, k, v).mul_(0.5)


@pair("dtype-bf16", r"bf16|bfloat16|dtype|type|precision|replaced|became")
def dtype_bf16(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=3, batch=4096, dtype=torch.bfloat16 if changed else torch.float32)

    @torch.no_grad()
    def step(i):
        model(x)

    return step


@pair("dtype-f64", r"f64|double|dtype|type|precision|replaced|became")
def dtype_f64(gpu, changed):
    import torch

    x = torch.randn(2048, 2048, device=gpu.device, dtype=torch.float64 if changed else torch.float32)
    return lambda i: (x @ x).relu_()


@pair("dtype-tf32", r"tf32|dtype|type|precision|replaced|became")
def dtype_tf32(gpu, changed):
    import torch

    x = torch.randn(4096, 4096, device=gpu.device)

    def step(i):
        torch.backends.cuda.matmul.allow_tf32 = changed
        (x @ x).relu_()

    return step


# ---- more of the same ----


def stack(gpu, layers):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=layers, batch=2048)

    @torch.no_grad()
    def step(i):
        model(x)

    return step


@pair("layers-more", r"more (launch|kernel|call)|launches|layers|4 (to|->|instead of|became) 6|6 (instead of|launches)")
def layers_more(gpu, changed):
    return stack(gpu, 6 if changed else 4)


@pair("layers-fewer", r"fewer (launch|kernel|call)|launches|layers")
def layers_fewer(gpu, changed):
    return stack(gpu, 6 if changed else 12)


@pair("layers-conv", r"more (launch|kernel|call)|launches|layers", "profiler")
def layers_conv(gpu, changed):
    import torch

    x = torch.randn(16, 256, 28, 28, device=gpu.device, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    layers = torch.nn.ModuleList([torch.nn.Conv2d(256, 256, 3, padding=1, bias=False) for _ in range(6 if changed else 4)])
    layers = layers.to(gpu.device, torch.bfloat16, memory_format=torch.channels_last)

    @torch.no_grad()
    def step(i):
        y = x
        for layer in layers:
            y = layer(y).relu_()

    return step


@pair("recompute", r"more (launch|kernel|call)|launches")
def recompute(gpu, changed):
    import torch
    from torch.utils.checkpoint import checkpoint

    model, x = mlp(torch, gpu, width=2048, layers=3, batch=4096)
    x.requires_grad_()

    def step(i):
        y = checkpoint(model, x, use_reentrant=False) if changed else model(x)
        y.float().square().mean().backward()

    return step


# ---- kernels ----


def looping(gpu, repeat, blocks):
    import torch

    x = torch.randn(1 << 20, device=gpu.device)
    y = torch.randn(1 << 20, device=gpu.device)

    def step(i):
        gpu.launch("multiply_add_loop", blocks, 256, x, (ctypes.c_longlong, x.numel()), (ctypes.c_int, repeat))
        y.mul_(0.999)

    return step


@pair("kernel-slower", r"multiply_add_loop.*(slow|longer|takes)|(slow|longer).*multiply_add_loop")
def kernel_slower(gpu, changed):
    return looping(gpu, 2600 if changed else 2000, gpu.processors * 8)


@pair("kernel-faster", r"multiply_add_loop")
def kernel_faster(gpu, changed):
    return looping(gpu, 1000 if changed else 3000, gpu.processors * 8)


@pair("kernel-grid", r"multiply_add_loop.*|grid|blocks")
def kernel_grid(gpu, changed):
    return looping(gpu, 500, gpu.processors // 4 if changed else gpu.processors * 8)


@pair("kernel-columns", r"copy_by_columns")
def kernel_columns(gpu, changed):
    import torch

    x = torch.randn(4096, 4096, device=gpu.device)
    y = torch.empty_like(x)
    rows, columns = (4096, 4096) if changed else (1 << 24, 1)

    def step(i):
        gpu.launch("copy_by_columns", gpu.processors * 16, 256, x, y, (ctypes.c_longlong, rows), (ctypes.c_longlong, columns))
        x.mul_(0.999)

    return step


@pair("gather-random", r"slower|longer|index|gather")
def gather_random(gpu, changed):
    import torch

    table = torch.randn(1 << 18, 256, device=gpu.device)
    order = torch.randperm(1 << 18) if changed else torch.arange(1 << 18)
    order = order.to(gpu.device)
    return lambda i: table[order]


@pair("kernel-new", r"new|added|clone|copy|contiguous")
def kernel_new(gpu, changed):
    import torch

    x = torch.randn(4096, 4096, device=gpu.device)

    def step(i):
        y = x * 2.0
        if changed:
            y.t().contiguous()

    return step


@pair("dropout-new", r"new|added|dropout|more (kernel|launch)")
def dropout_new(gpu, changed):
    import torch

    x = torch.randn(4096, 4096, device=gpu.device)

    def step(i):
        y = torch.tanh(x)
        if changed:
            torch.nn.functional.dropout(y, 0.1)

    return step


@pair("fill-gone", r"gone|removed|fill|zero|fewer|no longer|set")
def fill_gone(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=2, batch=64)
    return training(torch, model, x, torch.optim.SGD(model.parameters(), lr=1e-3), none=changed)


@pair("streams", r"overlap|concurren|parallel|same time|stream")
def streams(gpu, changed):
    import torch

    x, y = torch.randn(1 << 14, device=gpu.device), torch.randn(1 << 14, device=gpu.device)
    other = torch.cuda.Stream() if gpu.real else None

    def launch(z):
        gpu.launch("multiply_add_loop", 32, 256, z, (ctypes.c_longlong, z.numel()), (ctypes.c_int, 60000))

    def step(i):
        if not (other and changed):
            launch(x), launch(y)
            return
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            launch(y)
        launch(x)
        torch.cuda.current_stream().wait_stream(other)

    return step


@pair("clock-power", r"clock|GHz|MHz")
def clock_power(gpu, changed):
    import torch

    make = torch.randn if changed else torch.zeros
    x = make(8192, 8192, device=gpu.device, dtype=torch.bfloat16)
    warm = time.perf_counter() + (1.5 if gpu.real else 0)
    while time.perf_counter() < warm:
        for _ in range(20):
            x @ x
        gpu.synchronize()

    def step(i):
        for _ in range(12):
            x @ x

    return step


def drawing_power(gpu, changed, make, size, dtype, steps):
    """Products of zeros draw little power; those of random numbers reach the power limit, which lowers the clock."""
    import torch

    x = (torch.randn if changed else torch.zeros)(*size, device=gpu.device, dtype=dtype)
    warm = time.perf_counter() + (1.5 if gpu.real else 0)
    while time.perf_counter() < warm:
        for _ in range(20):
            make(x)
        gpu.synchronize()

    def step(i):
        for _ in range(steps):
            make(x)

    return step


@pair("clock-power-half", r"clock|GHz|MHz")
def clock_power_half(gpu, changed):
    import torch

    return drawing_power(gpu, changed, lambda x: torch.bmm(x, x), (16, gpu.size(4096, 64), gpu.size(4096, 64)), torch.float16, 6)


@pair("clock-power-tf32", r"clock|GHz|MHz")
def clock_power_tf32(gpu, changed):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = True
    return drawing_power(gpu, changed, lambda x: x @ x, (gpu.size(8192, 64),) * 2, torch.float32, 8)


@pair("clock-locked-gemm", r"clock|GHz|MHz", "clock")
def clock_locked_gemm(gpu, changed):
    return stack(gpu, 4)


@pair("clock-locked-loop", r"clock|GHz|MHz", "clock")
def clock_locked_loop(gpu, changed):
    return looping(gpu, 2000, gpu.processors * 8)


@pair("clock-locked-train", r"clock|GHz|MHz", "clock")
def clock_locked_train(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=2, batch=8192)
    return training(torch, model, x, torch.optim.SGD(model.parameters(), lr=1e-3))


# ---- other processes ----

SHARED = r"(another|other) process|processes|shared"


@pair("shared-gemm", SHARED, "shared")
def shared_gemm(gpu, changed):
    return stack(gpu, 4)


@pair("shared-loop", SHARED, "shared")
def shared_loop(gpu, changed):
    return looping(gpu, 2000, gpu.processors * 8)


# ---- host ----


@pair("host-sleep", r"host code|CPU|host")
def host_sleep(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=4)

    @torch.no_grad()
    def step(i):
        model(x)
        if changed:
            time.sleep(0.002)

    return step


@pair("host-busy", r"host code|CPU|host|prepare_batch", "sampled")
def host_busy(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=4)

    def prepare_batch():
        return sum(k * k for k in range(60000))

    @torch.no_grad()
    def step(i):
        if not changed:
            prepare_batch()
        model(x)

    return step


@pair("host-input", r"host code|CPU|host|input|copy|copies", "profiler")
def host_input(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=4)
    ready = torch.randn(64, 2048)

    @torch.no_grad()
    def step(i):
        batch = ready if changed else torch.stack([torch.randn(2048) for _ in range(64)])
        batch.sum()
        model(x)

    return step


@pair("allocation-new", r"alloc|free|memory")
def allocation_new(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=4)

    @torch.no_grad()
    def step(i):
        if changed:
            gpu.free(gpu.allocate(64 << 20))
        model(x)

    return step


@pair("empty-cache-removed", r"alloc|free|memory|sync")
def empty_cache_removed(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=4, batch=2048)

    @torch.no_grad()
    def step(i):
        model(x)
        if not changed:
            gpu.empty_cache()

    return step


@pair("compile-new", r"compil|module|load")
def compile_new(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=4)
    code = gpu.compile('extern "C" __global__ void f(float *x) { x[threadIdx.x] += 1; }') if gpu.real else None

    @torch.no_grad()
    def step(i):
        if changed and code:
            gpu.unload(gpu.load(code))
        model(x)

    return step


# ---- nothing ----

SAME = r"no (measurable )?difference|not? .*(differ|changed)|cannot be told|same|within"


@pair("same-mlp", SAME)
def same_mlp(gpu, changed):
    return stack(gpu, 4)


@pair("same-train", SAME, "profiler")
def same_train(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)
    return training(torch, model, x, torch.optim.SGD(model.parameters(), lr=1e-3))


@pair("same-copies", SAME)
def same_copies(gpu, changed):
    return copying(gpu, 1 << 22, True)


@pair("same-graph", SAME)
def same_graph(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=12, batch=32)

    def work():
        with torch.no_grad():
            model(x)

    return graphed(gpu, True, work)


@pair("same-tools", SAME + "|recording tool|profiler", "tools")
def same_tools(gpu, changed):
    return stack(gpu, 6)


@pair("same-loop", SAME)
def same_loop(gpu, changed):
    return looping(gpu, 2000, gpu.processors * 8)


# ---- recorded after the rules had learned from those above, and not learned from ----


@pair("clip-new", r"new|added|norm|more (kernel|launch)|launches")
def clip_new(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=4, batch=4096)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, foreach=True)

    def step(i):
        optimizer.zero_grad()
        model(x).float().square().mean().backward()
        if changed:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


@pair("loss-float", r"sync|item|DtoH|device-to-host|wait")
def loss_float(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=4)
    work = training(torch, model, x, torch.optim.SGD(model.parameters(), lr=1e-3))
    losses = []

    def step(i):
        loss = work(i)
        losses.append(float(loss) if changed else loss)

    return step


@pair("autocast", r"replaced|became|type|bf16|bfloat")
def autocast(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=4, batch=4096, dtype=torch.float32)

    @torch.no_grad()
    def step(i):
        with torch.autocast("cuda" if gpu.real else "cpu", torch.bfloat16, enabled=changed):
            model(x)

    return step


@pair("sort-new", r"new|sort|radix|more (kernel|launch)")
def sort_new(gpu, changed):
    import torch

    x = torch.randn(1 << 22, device=gpu.device)

    def step(i):
        y = torch.sigmoid(x)
        if changed:
            torch.sort(y)

    return step


@pair("rows-batched", r"became|replaced|fus|launch")
def rows_batched(gpu, changed):
    import torch

    x = torch.randn(64, 4096, device=gpu.device)

    def step(i):
        if changed:
            torch.softmax(x, -1)
        else:
            for row in x:
                torch.softmax(row, -1)

    return step


@pair("layer-stream-sync", r"sync|wait")
def layer_stream_sync(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=6)

    @torch.no_grad()
    def step(i):
        y = x
        for layer in model:
            y = layer(y)
            if changed and gpu.real:
                torch.cuda.current_stream().synchronize()

    return step


@pair("event-wait", r"sync|wait")
def event_wait(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=6)
    event = torch.cuda.Event() if gpu.real else None

    @torch.no_grad()
    def step(i):
        model(x)
        if not changed and event:
            event.record()
            event.synchronize()

    return step


@pair("collect-garbage", r"host code|CPU|host|collect", "sampled")
def collect_garbage(gpu, changed):
    import gc

    import torch

    model, x = mlp(torch, gpu, layers=4)

    @torch.no_grad()
    def step(i):
        model(x)
        if changed:
            gc.collect()

    return step


@pair("log-json", r"host code|CPU|host|json|dumps")
def log_json(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, layers=4)
    metrics = {f"metric {k}": list(range(40)) for k in range(60)}

    @torch.no_grad()
    def step(i):
        model(x)
        if not changed:
            json.dumps(metrics)

    return step


@pair("batch-conv", r"shape|batch|blocks", "profiler")
def batch_conv(gpu, changed):
    import torch

    x = torch.randn(64 if changed else 32, 128, 56, 56, device=gpu.device, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    layer = torch.nn.Conv2d(128, 128, 3, padding=1).to(gpu.device, torch.bfloat16, memory_format=torch.channels_last)

    @torch.no_grad()
    def step(i):
        layer(x).relu_()

    return step


@pair("sum-double", r"replaced|became|double|type|new|slower")
def sum_double(gpu, changed):
    import torch

    x = torch.randn(1 << 24, device=gpu.device)
    return lambda i: x.sum(dtype=torch.float64 if changed else torch.float32) + torch.tanh(x).sum()


@pair("clone-new", r"cop(y|ies)|new|clone|memcpy|DtoD")
def clone_new(gpu, changed):
    import torch

    x = torch.randn(1 << 24, device=gpu.device)

    def step(i):
        y = torch.tanh(x)
        if changed:
            y.clone()

    return step


@pair("input-each-step", r"cop(y|ies)|HtoD|host-to-device|pageable")
def input_each_step(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=3, batch=1024)
    host = torch.randn(1024, 1024, dtype=torch.bfloat16)

    @torch.no_grad()
    def step(i):
        model(host.to(gpu.device) if changed else x)

    return step


@pair("heads-split", r"became|replaced|launch")
def heads_split(gpu, changed):
    import torch

    q, k = (torch.randn(32, 512, 128, device=gpu.device, dtype=torch.bfloat16) for _ in range(2))

    def step(i):
        if changed:
            for head in range(32):
                q[head] @ k[head].T
        else:
            torch.bmm(q, k.transpose(1, 2))

    return step


@pair("same-conv", SAME)
def same_conv(gpu, changed):
    import torch

    x = torch.randn(64, 64, 56, 56, device=gpu.device, dtype=torch.bfloat16)
    layer = torch.nn.Conv2d(64, 64, 3, padding=1).to(gpu.device, torch.bfloat16)

    @torch.no_grad()
    def step(i):
        for _ in range(4):
            layer(x)

    return step


@pair("same-adam", SAME)
def same_adam(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=4, batch=4096)
    return training(torch, model, x, torch.optim.Adam(model.parameters(), fused=True))


# ---- a third set: written after the rules had learned from those above, recorded and scored once ----


def still(work):
    """One step that needs no gradient."""
    import torch

    def step(i):
        with torch.no_grad():
            work(i)

    return step


def bf16(gpu, *shape):
    import torch

    return torch.randn(*shape, device=gpu.device, dtype=torch.bfloat16)


@pair("attention-weights", r"attention|flash|fus|became|replaced")
def attention_weights(gpu, changed):
    import torch

    layer = torch.nn.MultiheadAttention(1024, 16, batch_first=True).to(gpu.device, torch.bfloat16).eval()
    x = bf16(gpu, 8, 1024, 1024)
    return still(lambda i: layer(x, x, x, need_weights=not changed))


@pair("channels-last", r"became|replaced|nchw|nhwc|layout|gone|no longer|fewer|conversion")
def channels_last(gpu, changed):
    import torch

    layers = torch.nn.Sequential(*[torch.nn.Conv2d(128, 128, 3, padding=1) for _ in range(4)]).to(gpu.device, torch.bfloat16)
    x = bf16(gpu, 32, 128, 56, 56)
    if changed:
        layers, x = layers.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    return still(lambda i: layers(x))


@pair("compile-norm", r"fus|became|replaced|triton", "profiler")
def compile_norm(gpu, changed):
    import torch

    weight, x = bf16(gpu, 2048), bf16(gpu, 4096, 2048)

    def norm(x):
        y = x.float()
        y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6)
        return torch.nn.functional.silu(y.to(torch.bfloat16) * weight) * x

    norm = torch.compile(norm) if changed else norm
    return still(lambda i: norm(x))


@pair("bias-apart", r"new|added|more|launch|became|replaced|add")
def bias_apart(gpu, changed):
    import torch

    x, weight, bias = bf16(gpu, 4096, 2048), bf16(gpu, 2048, 2048), bf16(gpu, 2048)

    def work(i):
        for _ in range(4):
            torch.addmm(bias, x, weight) if not changed else (x @ weight) + bias

    return still(work)


@pair("softmax-double", r"double|f64|type|precision|became|replaced|softmax")
def softmax_double(gpu, changed):
    import torch

    x = torch.randn(4096, 4096, device=gpu.device)
    return still(lambda i: torch.softmax(x, -1, dtype=torch.float64 if changed else None))


@pair("mask-select-new", r"sync|nonzero|wait|select|cop(y|ies)|new|more")
def mask_select_new(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)

    def work(i):
        y = model(x)
        if changed:
            y[y > 1.0].mean()

    return still(work)


@pair("topk-argmax", r"became|replaced|gone|fewer|sort|topk|argmax|no longer")
def topk_argmax(gpu, changed):
    import torch

    x = torch.randn(64, 128000, device=gpu.device)
    return still(lambda i: x.argmax(-1) if changed else torch.topk(x, 50))


@pair("cache-by-cat", r"\bcat|became|replaced|gone|fewer|cop(y|ies)|no longer|slice")
def cache_by_cat(gpu, changed):
    import torch

    cache, row = bf16(gpu, 16, 4096, 1024), bf16(gpu, 16, 1, 1024)

    def work(i):
        for _ in range(4):
            if changed:
                cache[:, -1:] = row
            else:
                torch.cat([cache[:, :-1], row], 1)

    return still(work)


@pair("depth-odd", r"became|replaced|gemm|shape|nvjet|kernel")
def depth_odd(gpu, changed):
    a, b = bf16(gpu, 4096, 4095 if changed else 4096), bf16(gpu, 4095 if changed else 4096, 4096)
    return still(lambda i: a @ b)


@pair("micro-batches", r"more|fewer|launch|became|batch|shape|instead of")
def micro_batches(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4, batch=4096)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, foreach=True)

    def step(i):
        optimizer.zero_grad()
        for part in x.chunk(4 if changed else 1):
            model(part).float().square().mean().backward()
        optimizer.step()

    return step


@pair("augment-gone", r"host|augment|CPU|input", "sampled")
def augment_gone(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)

    def augment():
        rows = [[(k * j) % 255 for k in range(200)] for j in range(60)]
        return sorted(sum(row) for row in rows)

    def work(i):
        if not changed:
            augment()
        model(x)

    return still(work)


@pair("print-loss", r"sync|item|wait|DtoH|device-to-host|repr|print|launch")
def print_loss(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)
    work = training(torch, model, x, torch.optim.SGD(model.parameters(), lr=1e-3, foreach=True))
    sink = open(os.devnull, "w")

    def step(i):
        loss = work(i)
        if changed:
            print(i, loss, file=sink)

    return step


@pair("finite-check", r"sync|wait|DtoH|device-to-host|finite|new|more")
def finite_check(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=6)

    def work(i):
        y = x
        for layer in model:
            y = layer(y)
            if changed and not torch.isfinite(y).all():
                raise ValueError("not finite")

    return still(work)


@pair("uploads-many", r"cop(y|ies)|HtoD|host-to-device", "profiler")
def uploads_many(gpu, changed):
    import torch

    parts = [torch.randn(512) for _ in range(40)]
    model, x = mlp(torch, gpu, width=1024, layers=2)

    def work(i):
        if changed:
            [part.to(gpu.device) for part in parts]
        else:
            torch.cat(parts).to(gpu.device)
        model(x)

    return still(work)


@pair("read-back-pinned", r"pinned|pageable|sync|wait|cop(y|ies)")
def read_back_pinned(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=3, batch=2048)
    host = gpu.pinned(torch.empty(2048, 2048, dtype=torch.bfloat16))

    def work(i):
        y = model(x)
        host.copy_(y, non_blocking=True) if changed else y.cpu()

    return still(work)


@pair("graph-training", r"graph")
def graph_training(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=256, layers=4, batch=128)
    optimizer = torch.optim.Adam(model.parameters(), capturable=True, foreach=True)
    work = training(torch, model, x, optimizer)
    return graphed(gpu, changed, lambda: work(0))


@pair("graph-longer", r"launch|kernel|more|became|new|node")
def graph_longer(gpu, changed):
    import torch

    x = torch.randn(1 << 16, device=gpu.device)

    def work():
        for _ in range(60 if changed else 30):
            x.mul_(0.999)

    return graphed(gpu, True, work)


@pair("streams-joined", r"overlap|concurren|parallel|same time|stream|serial")
def streams_joined(gpu, changed):
    import torch

    x = [torch.randn(1 << 13, device=gpu.device) for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in x] if gpu.real and not changed else []

    def launch(z):
        gpu.launch("multiply_add_loop", 16, 256, z, (ctypes.c_longlong, z.numel()), (ctypes.c_int, 40000))

    def step(i):
        for k, z in enumerate(x):
            if not streams:
                launch(z)
                continue
            streams[k].wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(streams[k]):
                launch(z)
        for stream in streams:
            torch.cuda.current_stream().wait_stream(stream)

    return step


@pair("conv-half", r"f16|half|became|replaced|type|precision")
def conv_half(gpu, changed):
    import torch

    dtype = torch.float16 if changed else torch.float32
    layer = torch.nn.Conv2d(128, 128, 3, padding=1).to(gpu.device, dtype)
    x = torch.randn(32, 128, 56, 56, device=gpu.device, dtype=dtype)
    return still(lambda i: layer(layer(x)))


@pair("int8-product", r"int8|became|replaced|type|i8|s8")
def int8_product(gpu, changed):
    import torch

    x = torch.randint(-9, 9, (4096, 4096), device=gpu.device, dtype=torch.int8)
    y = bf16(gpu, 4096, 4096)
    return still(lambda i: torch._int_mm(x, x) if changed else y @ y)


@pair("width-more", r"shape|width|larger|batch", "profiler")
def width_more(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=3072 if changed else 2048, layers=4, batch=4096)
    return still(lambda i: model(x))


@pair("vocabulary-larger", r"gemm|nvjet|slower|longer|shape|takes|larger|grid|became|replaced")
def vocabulary_larger(gpu, changed):
    x, weight = bf16(gpu, 1024, 2048), bf16(gpu, 2048, 64000 if changed else 32000)
    return still(lambda i: (x @ weight).argmax(-1))


@pair("image-larger", r"shape|image|larger|batch", "profiler")
def image_larger(gpu, changed):
    import torch

    size = 96 if changed else 64
    layers = torch.nn.Sequential(*[torch.nn.Conv2d(64, 64, 3, padding=1) for _ in range(3)]).to(gpu.device, torch.bfloat16)
    x = bf16(gpu, 32, 64, size, size)
    return still(lambda i: layers(x))


@pair("dropout-gone", r"gone|no longer|dropout|fewer|removed|became|replaced")
def dropout_gone(gpu, changed):
    import torch

    x = bf16(gpu, 8192, 2048)

    def work(i):
        y = torch.nn.functional.gelu(x)
        if not changed:
            y = torch.nn.functional.dropout(y, 0.1)
        y.sum(-1)

    return still(work)


@pair("average-new", r"new|more|added|lerp|launch|foreach|multi_tensor")
def average_new(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=4, batch=2048)
    work = training(torch, model, x, torch.optim.SGD(model.parameters(), lr=1e-3, foreach=True))
    weights = [p.detach() for p in model.parameters()]
    average = [w.clone() for w in weights]

    def step(i):
        work(i)
        if changed:
            torch._foreach_lerp_(average, weights, 0.01)

    return step


@pair("clip-by-loop", r"sync|launch|fewer|became|wait|replaced|item")
def clip_by_loop(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=6)

    def step(i):
        model.zero_grad()
        model(x).float().square().mean().backward()
        if changed:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        elif sum(p.grad.norm().item() ** 2 for p in model.parameters()) > 1e9:
            raise ValueError("too large")

    return step


@pair("metrics-on-host", r"host|CPU|metric", "sampled")
def metrics_on_host(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)
    history = list(range(4000))

    def metrics():
        return {name: sum(v * k for k, v in enumerate(history)) for name in ("mean", "median", "p90", "p99")}

    def work(i):
        model(x)
        if changed:
            metrics()

    return still(work)


@pair("sleep-gone", r"host|CPU|sleep")
def sleep_gone(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)

    def work(i):
        model(x)
        if not changed:
            time.sleep(0.001)

    return still(work)


@pair("log-to-disk", r"host|CPU|write|disk|sync")
def log_to_disk(gpu, changed):
    import tempfile
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)
    log = tempfile.TemporaryFile("w")

    def work(i):
        model(x)
        if changed:
            for k in range(20):
                log.write(json.dumps({"step": i, "part": k, "values": list(range(200))}))
            log.flush()

    return still(work)


@pair("allocations-gone", r"alloc|free|memory")
def allocations_gone(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)

    def work(i):
        if not changed:
            for _ in range(3):
                gpu.free(gpu.allocate(8 << 20))
        model(x)

    return still(work)


@pair("module-load-gone", r"compil|module|load")
def module_load_gone(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)
    code = gpu.compile('extern "C" __global__ void g(float *x) { x[threadIdx.x] *= 2; }') if gpu.real else None

    def work(i):
        if not changed and code:
            gpu.unload(gpu.load(code))
        model(x)

    return still(work)


@pair("clock-locked-attention", r"clock|GHz|MHz", "clock")
def clock_locked_attention(gpu, changed):
    import torch

    q, k, v = (bf16(gpu, 8, 16, 2048, 64) for _ in range(3))
    return still(lambda i: torch.nn.functional.scaled_dot_product_attention(q, k, v))


@pair("shared-train", SHARED, "shared")
def shared_train(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=3, batch=4096)
    return training(torch, model, x, torch.optim.SGD(model.parameters(), lr=1e-3, foreach=True))


@pair("kernel-blocks", r"multiply_add_loop|grid|blocks")
def kernel_blocks(gpu, changed):
    return looping(gpu, 800, 24 if changed else gpu.processors * 4)


@pair("kernel-exchanged", r"became|replaced|fused_chain|new")
def kernel_exchanged(gpu, changed):
    import torch

    x = torch.randn(1 << 22, device=gpu.device)
    y = torch.empty_like(x)

    def step(i):
        if changed:
            gpu.launch("fused_chain", gpu.processors * 8, 256, x, y, (ctypes.c_longlong, x.numel()), (ctypes.c_int, 200))
        else:
            gpu.launch("multiply_add_loop", gpu.processors * 8, 256, x, (ctypes.c_longlong, x.numel()), (ctypes.c_int, 100))
        y.mul_(0.999)

    return step


@pair("zeros-new", r"new|fill|zero|memset|more|added|set")
def zeros_new(gpu, changed):
    import torch

    x = bf16(gpu, 8192, 4096)

    def work(i):
        if changed:
            torch.zeros(1 << 26, device=gpu.device)
        torch.sigmoid(x)

    return still(work)


@pair("contiguous-gone", r"gone|no longer|fewer|cop(y|ies)|contiguous|removed|became|replaced")
def contiguous_gone(gpu, changed):
    x, weight = bf16(gpu, 4096, 4096), bf16(gpu, 4096, 4096)
    return still(lambda i: x @ (weight.t() if changed else weight.t().contiguous()))


@pair("upload-bytes", r"cop(y|ies)|HtoD|host-to-device|bytes")
def upload_bytes(gpu, changed):
    import torch

    host = gpu.pinned(torch.randint(0, 255, (64, 3, 224, 224), dtype=torch.uint8 if changed else torch.float32))
    return still(lambda i: host.to(gpu.device, non_blocking=True).to(torch.bfloat16).mul_(1 / 255))


@pair("upload-exposed", r"cop(y|ies)|overlap|hidden|exposed")
def upload_exposed(gpu, changed):
    import torch

    host = gpu.pinned(torch.randn(1 << 22))
    target = torch.empty(1 << 22, device=gpu.device)
    model, x = mlp(torch, gpu, width=2048, layers=4, batch=4096)
    stream = torch.cuda.Stream() if gpu.real else None

    def work(i):
        if changed or not stream:
            target.copy_(host, non_blocking=True)
        else:
            with torch.cuda.stream(stream):
                target.copy_(host, non_blocking=True)
        model(x)

    return still(work)


@pair("recurrent-cells", r"launch|fewer|became|replaced|rnn|lstm|cudnn")
def recurrent_cells(gpu, changed):
    import torch

    layer, cell = torch.nn.LSTM(512, 512).to(gpu.device), torch.nn.LSTMCell(512, 512).to(gpu.device)
    x = torch.randn(32, 64, 512, device=gpu.device)

    def work(i):
        if changed:
            layer(x)
            return
        state = None
        for part in x:
            state = cell(part, state)

    return still(work)


@pair("zero-by-tensor", r"became|replaced|fewer|more|launch|multi_tensor|instead of")
def zero_by_tensor(gpu, changed):
    import torch

    parts = [torch.randn(1 << 14, device=gpu.device) for _ in range(60)]

    def work(i):
        if changed:
            [part.zero_() for part in parts]
        else:
            torch._foreach_zero_(parts)

    return still(work)


@pair("same-attention", SAME)
def same_attention(gpu, changed):
    import torch

    q, k, v = (bf16(gpu, 8, 16, 2048, 64) for _ in range(3))
    return still(lambda i: torch.nn.functional.scaled_dot_product_attention(q, k, v))


@pair("same-launches", SAME)
def same_launches(gpu, changed):
    import torch

    x = torch.randn(1 << 12, device=gpu.device)
    return still(lambda i: [x.mul_(0.999) for _ in range(100)])


@pair("same-input", SAME)
def same_input(gpu, changed):
    import torch

    host, model_and_x = gpu.pinned(torch.randn(1 << 21)), mlp(torch, gpu, width=2048, layers=3, batch=4096)
    model, x = model_and_x

    def work(i):
        host.to(gpu.device, non_blocking=True)
        model(x).float().mean().item()

    return still(work)


# ---- a fourth set: written after the rules had learned from the third, recorded and scored once ----

WAITS = r"sync|wait|DtoH|device-to-host|from the device|item"
REPLACED = r"became|replaced|fus"
HOST = r"host|CPU"


@pair("rms-norm-fused", REPLACED + r"|norm")
def rms_norm_fused(gpu, changed):
    import torch

    x, weight = bf16(gpu, 8192, 2048), bf16(gpu, 2048)

    def by_parts(y):
        return y * torch.rsqrt(y.float().square().mean(-1, keepdim=True) + 1e-6).to(y.dtype) * weight

    return still(lambda i: torch.nn.functional.rms_norm(x, (2048,), weight) if changed else by_parts(x))


@pair("swiglu-compiled", REPLACED + r"|triton", "profiler")
def swiglu_compiled(gpu, changed):
    import torch

    a, b = bf16(gpu, 4096, 4096), bf16(gpu, 4096, 4096)

    def gate(a, b):
        return (torch.nn.functional.silu(a) * b).clamp(-4, 4) * 0.5

    gate = torch.compile(gate) if changed else gate
    return still(lambda i: gate(a, b))


@pair("gelu-tanh", REPLACED + r"|gelu")
def gelu_tanh(gpu, changed):
    import torch

    x = torch.randn(1 << 24, device=gpu.device)

    def by_parts(x):
        return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x)))

    return still(lambda i: torch.nn.functional.gelu(x, approximate="tanh") if changed else by_parts(x))


@pair("loss-fused", REPLACED + r"|softmax|loss")
def loss_fused(gpu, changed):
    import torch

    x, y = torch.randn(8192, 4096, device=gpu.device), torch.randint(4096, (8192,), device=gpu.device)

    def by_parts():
        shifted = x - x.max(-1, keepdim=True).values
        return (shifted.exp().sum(-1).log() - shifted.gather(1, y[:, None])[:, 0]).mean()

    return still(lambda i: torch.nn.functional.cross_entropy(x, y) if changed else by_parts())


@pair("heads-batched", REPLACED + r"|fewer|launch")
def heads_batched(gpu, changed):
    x, y = bf16(gpu, 16, 512, 64), bf16(gpu, 16, 64, 512)
    return still(lambda i: x @ y if changed else [x[k] @ y[k] for k in range(16)])


@pair("adam-fused-gone", REPLACED + r"|adam|more|launch|multi_tensor")
def adam_fused_gone(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=512, layers=6)
    kind = {"foreach": True} if changed else {"fused": True}
    return training(torch, model, x, torch.optim.AdamW(model.parameters(), lr=1e-4, **kind))


@pair("graph-decode", r"graph")
def graph_decode(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=12, batch=1)

    def work():
        with torch.no_grad():
            model(x)

    return graphed(gpu, changed, work)


@pair("graph-lost", r"graph")
def graph_lost(gpu, changed):
    import torch

    x = torch.randn(1 << 14, device=gpu.device)

    def work():
        for _ in range(40):
            x.mul_(0.999).add_(0.001)

    return graphed(gpu, not changed, work)


@pair("graph-deeper", r"launch|more|node|became|layers")
def graph_deeper(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=512, layers=16 if changed else 8, batch=64)

    def work():
        with torch.no_grad():
            model(x)

    return graphed(gpu, True, work)


@pair("accuracy-each-step", WAITS)
def accuracy_each_step(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)
    y = torch.randint(1024, (1024,), device=gpu.device)

    def work(i):
        hits = (model(x).argmax(-1) == y).sum()
        if changed:
            float(hits)

    return still(work)


@pair("accuracy-kept", WAITS)
def accuracy_kept(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)
    total = torch.zeros((), device=gpu.device)

    def work(i):
        mean = model(x).float().mean()
        total.add_(mean)
        if not changed:
            total.item()

    return still(work)


@pair("branch-on-device", WAITS)
def branch_on_device(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=6)

    def work(i):
        y = x
        for layer in model:
            y = layer(y)
            if changed and y.abs().max() > 1e6:
                y = y * 0.5

    return still(work)


@pair("unique-gone", WAITS + r"|unique|sort|gone|fewer|no longer|launch")
def unique_gone(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=512, layers=4)
    ids = torch.randint(100, (4096,), device=gpu.device)

    def work(i):
        if not changed:
            torch.unique(ids)
        model(x)

    return still(work)


@pair("event-each-layer", WAITS)
def event_each_layer(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=6)

    def work(i):
        y = x
        for layer in model:
            y = layer(y)
            if changed and gpu.real:
                event = torch.cuda.Event()
                event.record()
                event.synchronize()

    return still(work)


@pair("tolist-each-step", WAITS)
def tolist_each_step(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)

    def work(i):
        best = model(x).argmax(-1)[:8]
        if changed:
            best.tolist()

    return still(work)


@pair("pinned-batch", r"pinned|pageable")
def pinned_batch(gpu, changed):
    import torch

    host = torch.randn(64, 3, 224, 224)
    host = gpu.pinned(host) if changed else host
    model, x = mlp(torch, gpu, width=1024, layers=2)

    def work(i):
        host.to(gpu.device, non_blocking=True)
        model(x)

    return still(work)


@pair("results-pageable", r"pinned|pageable|sync|wait")
def results_pageable(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=2, batch=2048)
    host = torch.empty(2048, 2048, dtype=torch.bfloat16)
    host = host if changed else gpu.pinned(host)
    return still(lambda i: host.copy_(model(x), non_blocking=True))


@pair("labels-each-step", r"cop(y|ies)|HtoD|to the device")
def labels_each_step(gpu, changed):
    import torch

    host = torch.randint(1024, (1024,))
    kept = host.to(gpu.device)
    model, x = mlp(torch, gpu, width=1024, layers=4)

    def work(i):
        y = host.to(gpu.device) if changed else kept
        torch.nn.functional.cross_entropy(model(x).float(), y)

    return still(work)


@pair("scalars-uploaded", r"cop(y|ies)|HtoD|to the device")
def scalars_uploaded(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)

    def work(i):
        y = x
        for k, layer in enumerate(model):
            y = layer(y) * (torch.tensor(0.5 + k, dtype=torch.bfloat16).to(gpu.device) if changed else 0.5 + k)

    return still(work)


@pair("upload-halved", r"cop(y|ies)|HtoD|MB|bytes")
def upload_halved(gpu, changed):
    import torch

    host = gpu.pinned(torch.randn(1 << 24, dtype=torch.float16 if changed else torch.float32))
    return still(lambda i: host.to(gpu.device, non_blocking=True).float().sum())


@pair("clone-each-layer", r"new|clone|cop(y|ies)|more|launch|became")
def clone_each_layer(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=4, batch=4096)

    def work(i):
        y = x
        for layer in model:
            y = layer(y.clone() if changed else y)

    return still(work)


@pair("batch-third", r"shape|batch|blocks|became|smaller")
def batch_third(gpu, changed):
    import torch

    layer = torch.nn.Conv2d(64, 64, 3, padding=1).to(gpu.device, torch.bfloat16)
    x = bf16(gpu, 16 if changed else 48, 64, 96, 96)
    return still(lambda i: layer(layer(x)))


@pair("tokens-more", r"shape|batch|sequence|length|blocks|became", "profiler")
def tokens_more(gpu, changed):
    import torch

    layer = torch.nn.TransformerEncoderLayer(512, 8, batch_first=True).to(gpu.device, torch.bfloat16).eval()
    x = bf16(gpu, 8, 768 if changed else 512, 512)
    return still(lambda i: layer(x))


@pair("embedding-wider", r"shape|blocks|larger|longer|slower|index|takes|became")
def embedding_wider(gpu, changed):
    import torch

    table = bf16(gpu, 50000, 2048 if changed else 1024)
    ids = torch.randint(50000, (16384,), device=gpu.device)
    return still(lambda i: torch.nn.functional.embedding(ids, table))


@pair("weights-bf16", REPLACED + r"|bf16|bfloat|type|precision")
def weights_bf16(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=2048, layers=3, batch=2048, dtype=torch.bfloat16 if changed else torch.float32)
    return still(lambda i: model(x))


@pair("accumulate-f64", REPLACED + r"|double|type|precision|f64|new")
def accumulate_f64(gpu, changed):
    import torch

    x = torch.randn(1 << 25, device=gpu.device)
    return still(lambda i: x.sum(dtype=torch.float64) if changed else x.sum())


@pair("blocks-more", r"launch|more|instead of|layers")
def blocks_more(gpu, changed):
    import torch

    layers = torch.nn.ModuleList([torch.nn.Linear(1024, 1024) for _ in range(10 if changed else 6)]).to(gpu.device, torch.bfloat16)
    norm = torch.nn.LayerNorm(1024).to(gpu.device, torch.bfloat16)
    x = bf16(gpu, 4096, 1024)

    def work(i):
        y = x
        for layer in layers:
            y = y + torch.nn.functional.gelu(layer(norm(y)))

    return still(work)


@pair("checkpointing", r"launch|more|instead of|recomput")
def checkpointing(gpu, changed):
    import torch
    from torch.utils.checkpoint import checkpoint

    model, x = mlp(torch, gpu, width=2048, layers=6, batch=4096)
    x.requires_grad_(True)

    def step(i):
        model.zero_grad()
        y = checkpoint(model, x, use_reentrant=False) if changed else model(x)
        y.float().mean().backward()

    return step


@pair("evaluation-gone", r"launch|fewer|instead of|gone")
def evaluation_gone(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)
    work = training(torch, model, x, torch.optim.SGD(model.parameters(), lr=1e-3, foreach=True))

    def step(i):
        work(i)
        if not changed:
            with torch.no_grad():
                model(x)

    return step


@pair("loop-unlucky", r"multiply_add_loop")
def loop_unlucky(gpu, changed):
    return looping(gpu, 1300 if changed else 900, gpu.processors * 4)


@pair("columns-gone", r"copy_by_columns")
def columns_gone(gpu, changed):
    import torch

    x = torch.randn(4096, 2048, device=gpu.device)
    y = torch.empty_like(x)
    rows, columns = (2048 * 4096, 1) if changed else (4096, 2048)

    def step(i):
        gpu.launch("copy_by_columns", gpu.processors * 8, 256, x, y, (ctypes.c_longlong, rows), (ctypes.c_longlong, columns))
        torch.relu(y)

    return step


@pair("noise-added", r"new|random|normal|distribution|more|launch")
def noise_added(gpu, changed):
    import torch

    x = torch.randn(1 << 24, device=gpu.device)

    def work(i):
        y = torch.tanh(x)
        if changed:
            y.add_(torch.randn_like(y))

    return still(work)


@pair("two-streams", r"overlap|concurren|parallel|same time|stream")
def two_streams(gpu, changed):
    import torch

    x = [torch.randn(1 << 13, device=gpu.device) for _ in range(2)]
    side = torch.cuda.Stream() if gpu.real and changed else None

    def launch(z):
        gpu.launch("multiply_add_loop", 32, 256, z, (ctypes.c_longlong, z.numel()), (ctypes.c_int, 60000))

    def step(i):
        if side:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                launch(x[1])
            launch(x[0])
            torch.cuda.current_stream().wait_stream(side)
        else:
            [launch(z) for z in x]

    return step


@pair("clock-locked-conv", r"clock|GHz|MHz", "clock")
def clock_locked_conv(gpu, changed):
    import torch

    layer = torch.nn.Conv2d(256, 256, 3, padding=1).to(gpu.device, torch.bfloat16)
    x = bf16(gpu, 32, 256, 56, 56)
    return still(lambda i: layer(layer(x)))


@pair("shared-attention", SHARED, "shared")
def shared_attention(gpu, changed):
    import torch

    q, k, v = (bf16(gpu, 8, 16, 2048, 64) for _ in range(3))
    return still(lambda i: torch.nn.functional.scaled_dot_product_attention(q, k, v))


@pair("tokenizer-on-host", HOST + r"|tokeniz", "sampled")
def tokenizer_on_host(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)
    words = [f"word{k % 97}" for k in range(3000)]
    table = {f"word{k}": k for k in range(97)}

    def tokenize():
        return [table[word.lower()] for word in words]

    def work(i):
        if changed:
            tokenize()
        model(x)

    return still(work)


@pair("lock-gone", HOST + r"|sleep|lock")
def lock_gone(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)

    def work(i):
        if not changed:
            time.sleep(0.002)
        model(x)

    return still(work)


@pair("numpy-in-step", HOST + r"|numpy")
def numpy_in_step(gpu, changed):
    import numpy
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)
    rows = numpy.random.default_rng(0).standard_normal((200, 200))

    def work(i):
        model(x)
        if changed:
            numpy.linalg.svd(rows)

    return still(work)


@pair("workspace-each-step", r"alloc|free|memory")
def workspace_each_step(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)

    def work(i):
        model(x)
        if changed:
            gpu.free(gpu.allocate(64 << 20))

    return still(work)


@pair("modules-loaded", r"compil|module|load")
def modules_loaded(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=4)
    code = gpu.compile('extern "C" __global__ void h(float *x) { x[threadIdx.x] += 1; }') if gpu.real else None

    def work(i):
        model(x)
        if changed and code:
            for _ in range(2):
                gpu.unload(gpu.load(code))

    return still(work)


@pair("same-lstm", SAME)
def same_lstm(gpu, changed):
    import torch

    layer = torch.nn.LSTM(512, 512).to(gpu.device)
    x = torch.randn(32, 64, 512, device=gpu.device)
    return still(lambda i: layer(x))


@pair("same-decode", SAME)
def same_decode(gpu, changed):
    import torch

    model, x = mlp(torch, gpu, width=1024, layers=12, batch=1)
    return still(lambda i: model(x).argmax(-1).item())


@pair("same-softmax", SAME)
def same_softmax(gpu, changed):
    import torch

    x = torch.randn(8192, 8192, device=gpu.device)
    return still(lambda i: torch.softmax(x, -1))



STEPS = 8


def time_steps(gpu, step, times):
    gpu.synchronize()
    start = time.perf_counter_ns()
    for i in range(STEPS):
        step(i)
    gpu.synchronize()
    times.append((time.perf_counter_ns() - start) // STEPS)


def await_others(folder, others):
    """Until all have started, as starting keeps the processors busy."""
    with open(os.path.join(folder, str(os.getpid())), "w"):
        pass
    end = time.monotonic() + 60
    while len(os.listdir(folder)) < others and time.monotonic() < end:
        time.sleep(0.1)


def run(arguments):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus"))
    import torch

    from gpu import Gpu

    chosen = next(p for p in PAIRS if p["name"] == arguments.pair)
    if arguments.ready:
        await_others(arguments.ready, arguments.others)
    lock = open(arguments.lock, "w") if arguments.lock else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    torch.manual_seed(0)
    gpu = Gpu(arguments.device)
    step = chosen["make"](gpu, arguments.side == "b")
    times = []
    for _ in range(5):
        time_steps(gpu, step, times)
    times.clear()
    for _ in range(5):
        time_steps(gpu, step, times)
    kept = statistics.median(times)
    if arguments.trace:
        from torch.profiler import ProfilerActivity, profile

        kinds = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if gpu.real else [])
        with profile(activities=kinds):
            step(0)
        with profile(activities=kinds, record_shapes=True, acc_events=True) as profiler:
            time_steps(gpu, step, times)
        profiler.export_chrome_trace(arguments.trace)
    else:
        if gpu.real:
            torch.cuda.profiler.start()
        time_steps(gpu, step, times)
        if gpu.real:
            torch.cuda.profiler.stop()
    with open(arguments.result, "w") as file:
        json.dump({"step_ns": kept, "recorded_ns": times[-1], "torch": torch.__version__.split("+")[0]}, file)
    if lock:
        fcntl.flock(lock, fcntl.LOCK_UN)


def keep_busy(arguments):
    """Until it is killed."""
    import torch

    x = torch.randn(8192, 8192, device=arguments.device, dtype=torch.bfloat16)
    for i in range(1 << 30):
        x @ x
        if i % 8 == 0:
            torch.cuda.synchronize()
        if i == 64:
            print("busy", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["list", "run", "busy"])
    parser.add_argument("pair", nargs="?")
    parser.add_argument("side", nargs="?", choices=["a", "b"])
    parser.add_argument("--result")
    parser.add_argument("--trace")
    parser.add_argument("--lock")
    parser.add_argument("--ready")
    parser.add_argument("--others", type=int, default=0)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    if arguments.what == "list":
        for p in PAIRS:
            print(p["name"], p["manner"])
    elif arguments.what == "busy":
        keep_busy(arguments)
    else:
        run(arguments)


if __name__ == "__main__":
    main()
