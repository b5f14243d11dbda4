"""A torch.distributed program on gloo with one late rank: layers.py KIND RANK MILLISECONDS STEPS.

Each step trains a small network by hand: forward, backward, gradients of two layers reduced one after the
other, an update. Each rank writes when it arrived at each collective, when that ended, and how long what was
planted took since the one before, to times-RANK."""
import gc
import os
import sys
import threading
import time

import torch
import torch.distributed as dist


class Texts(torch.utils.data.Dataset):
    """A sample comes that much later from a worker process."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return torch.ones(2)


class Session:
    def __init__(self):
        self.callbacks = {"done": self.finish}
        self.history = [self]

    def finish(self):
        return self


def open_sessions(count):
    return [Session() for _ in range(count)]


class Network:
    def __init__(self, depth):
        self.weights = [torch.randn(64, 64, requires_grad=True) for _ in range(depth)]

    def train_step(self, x):
        for weight in self.weights:
            x = torch.relu(x @ weight) * 0.1
        x.sum().backward()


def score_candidates(seconds):
    end, best = time.thread_time() + seconds, 0
    while time.thread_time() < end:
        best = max(best, sum(i * i % 97 for i in range(500)))
    return best


def hold(lock, asked, seconds):
    while True:
        asked.wait()
        asked.clear()
        with lock:
            time.sleep(seconds)


def main():
    kind, late, ms, steps = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, is_late = dist.get_rank(), dist.get_rank() == late
    network, x = Network(12), torch.randn(64, 64)
    network.train_step(x)
    begin = time.thread_time()
    for _ in range(5):
        network.train_step(x)
    repeats = max(1, int(ms / 1000 / ((time.thread_time() - begin) / 5)))
    first, second = torch.zeros(40000), torch.zeros(9000)
    texts = iter(torch.utils.data.DataLoader(Texts(ms / 1000 if is_late else 0), num_workers=1, prefetch_factor=2)) \
        if kind == "loader" else None
    lock, asked = threading.Lock(), threading.Event()
    if kind == "lock" and is_late:
        threading.Thread(target=hold, args=(lock, asked, ms / 1000), daemon=True).start()
    gc.disable()
    collected, begun = [0], [0]
    if kind == "autogc" and is_late:
        def timed(phase, info):
            if phase == "start":
                begun[0] = time.monotonic_ns()
            else:
                collected[0] += time.monotonic_ns() - begun[0]
        gc.callbacks.append(timed)
        gc.freeze()
        gc.set_threshold(400, 1, 1)
        gc.enable()
    with open("times-%d" % rank, "w") as times:
        for _ in range(steps):
            collected[0] = 0
            planted = time.monotonic_ns()
            if is_late and kind == "pause":
                time.sleep(ms / 1000)
            if is_late and kind == "score":
                score_candidates(ms / 1000)
            if is_late and kind == "deep":
                for _ in range(repeats):
                    network.train_step(x)
            if is_late and kind == "lock":
                asked.set()
                time.sleep(0.001)
                with lock:
                    pass
            if texts:
                next(texts)
            planted = time.monotonic_ns() - planted if is_late else 0
            if kind == "autogc":
                open_sessions(int(900 * ms))
            network.train_step(x)
            planted += collected[0]
            arrival = time.monotonic_ns()
            dist.all_reduce(first)
            times.write("%d %d %d\n" % (arrival, time.monotonic_ns(), planted))
            network.train_step(x)
            arrival = time.monotonic_ns()
            dist.all_reduce(second)
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
