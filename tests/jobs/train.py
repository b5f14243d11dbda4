"""A torch.distributed program on gloo with one late rank: train.py KIND RANK MILLISECONDS STEPS.

Each rank writes when it arrived at each collective and when that ended to times-RANK."""
import gc
import os
import sys
import time

import torch
import torch.distributed as dist


def more_layers(seconds, x, w):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        x = torch.relu(x @ w)
    return x


class Batches(torch.utils.data.Dataset):
    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return torch.zeros(4)


def collect(seconds):
    """Cyclic garbage until a collection takes that long; the collector runs several times."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        gc.collect()


def main():
    kind, late, seconds, steps = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) / 1000, int(sys.argv[4])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    is_late = rank == late
    keep = [[i] for i in range(200000)] if kind == "gc" else None
    batches = iter(torch.utils.data.DataLoader(Batches(seconds if is_late and kind == "input" else 0)))
    w, x = torch.randn(96, 96), torch.randn(96, 96)
    gradient = torch.zeros(50000)
    with open("times-%d" % rank, "w") as times:
        for _ in range(steps):
            more = time.thread_time() + 0.005
            while time.thread_time() < more:
                x = torch.tanh(x @ w)
            if kind == "input":
                next(batches)
            if is_late and kind == "sleep":
                time.sleep(seconds)
            if is_late and kind == "work":
                more_layers(seconds, x, w)
            if is_late and kind == "gc":
                collect(seconds)
            arrival = time.monotonic_ns()
            dist.all_reduce(gradient)
            times.write("%d %d\n" % (arrival, time.monotonic_ns()))
    dist.destroy_process_group()
    assert keep is None or len(keep) == 200000


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
