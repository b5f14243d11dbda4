"""A torch.distributed program on gloo with one late rank: tokens.py KIND RANK MILLISECONDS STEPS.

Each step loads a batch, runs a small model, reduces its gradient and gathers a number. Each rank writes when
it arrived at each collective, when that ended, and how long what was planted took since the one before, to
times-RANK."""
import gc
import os
import queue
import sys
import threading
import time

import torch
import torch.distributed as dist


class Node:
    __slots__ = ("other", "values")

    def __init__(self, other):
        self.other = other
        self.values = [self]


def build_graph(count):
    """Cyclic objects: the collector runs by itself where it is enabled."""
    last = None
    for _ in range(count):
        last = Node(last)
    return last


class Documents(torch.utils.data.Dataset):
    """Decoding a document takes that much CPU time."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        end = time.thread_time() + self.seconds
        text = 0
        while time.thread_time() < end:
            text += sum(ord(c) for c in "the quick brown fox" * 10)
        return torch.tensor(text % 97)


def feed(batches, seconds):
    """Another thread makes a batch ready that much after it was asked for."""
    while True:
        asked = batches[0].get()
        if asked is None:
            return
        time.sleep(seconds)
        batches[1].put(torch.zeros(4))


def evaluate_router(seconds, x):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        x = torch.softmax(x, 1)
    return x


def forward(tokens, w):
    for row in tokens:
        row = torch.tanh(row @ w)
    return row


def rate(w):
    """Tokens of a millisecond of CPU time."""
    row = torch.randn(64, 96)
    begin = time.thread_time()
    forward([row] * 50, w)
    return 50 / (time.thread_time() - begin) / 1000


def main():
    kind, late, ms, steps = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    is_late = rank == late
    w, row = torch.randn(96, 96), torch.randn(64, 96)
    forward([row] * 20, w)
    per_ms = rate(w)
    tokens = [row] * int(5 * per_ms)
    more = [row] * int(ms * per_ms) if is_late and kind == "tokens" else []
    gradient, loss = torch.zeros(60000), torch.zeros(1)
    losses = [torch.zeros(1) for _ in range(dist.get_world_size())]
    documents = iter(torch.utils.data.DataLoader(Documents(ms / 1000 if is_late and kind == "decode" else 0)))
    queues = (queue.Queue(), queue.Queue())
    if kind == "queue":
        threading.Thread(target=feed, args=(queues, ms / 1000 if is_late else 0), daemon=True).start()
    collected, begun = [0], [0]
    gc.disable()
    if kind == "gc" and is_late:
        def timed(phase, info):
            if phase == "start":
                begun[0] = time.monotonic_ns()
            else:
                collected[0] += time.monotonic_ns() - begun[0]
        gc.callbacks.append(timed)
        gc.freeze()
        gc.set_threshold(500, 1, 1)
        gc.enable()
    event = threading.Event()
    with open("times-%d" % rank, "w") as times:
        for _ in range(steps):
            planted = time.monotonic_ns()
            if is_late and kind == "wait":
                event.wait(ms / 1000)
            if is_late and kind == "extra":
                evaluate_router(ms / 1000, row)
            if more:
                forward(more, w)
            if kind == "queue":
                queues[0].put(1)
                queues[1].get()
            if kind == "decode":
                next(documents)
            planted = time.monotonic_ns() - planted if is_late else 0
            collected[0] = 0
            if kind == "gc":
                build_graph(int(2500 * ms))
            forward(tokens, w)
            planted += collected[0]
            arrival = time.monotonic_ns()
            dist.all_reduce(gradient)
            times.write("%d %d %d\n" % (arrival, time.monotonic_ns(), planted))
            arrival = time.monotonic_ns()
            dist.all_gather(losses, loss)
            times.write("%d %d 0\n" % (arrival, time.monotonic_ns()))
    gc.disable()
    dist.barrier()
    dist.destroy_process_group()


if os.environ.get("RANK"):
    main()
else:
    import subprocess

    count = int(sys.argv[5])
    environment = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[6], WORLD_SIZE=str(count),
                       OMP_NUM_THREADS="1")
    children = [subprocess.Popen([sys.executable] + sys.argv, env=dict(environment, RANK=str(i), LOCAL_RANK=str(i)))
                for i in range(count)]
    sys.exit(max(child.wait() for child in children))
