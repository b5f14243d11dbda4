#!/usr/bin/env python3
"""Attaches to a running PyTorch program and detaches again, many times, on a real GPU, by hand:

    BUILD=build tests/gpu/attach.py [TIMES [SECONDS]]     100 when absent; after SECONDS it stops earlier

The program trains with fixed seeds and prints its loss after every step to a file. The losses must be
those of a second process that is left alone, bit by bit, and every recording must have kernels and lines. Threads, descriptors
and mappings of the program must not grow after the first recording, which loads the probe and CUPTI.
Prints what differs, the time of a step before the first recording and after the last, and at last how
many recordings were right."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

RIDGE = os.path.join(os.path.abspath(os.environ.get("BUILD", "build")), "ridge")

PROGRAM = """
import os, sys, time
import torch
from torch import nn
torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
net = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(256, 256), nn.ReLU())], nn.Linear(256, 8)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
data = [(torch.randn(64, 256), torch.randint(8, (64,))) for _ in range(16)]
out, stop = open(sys.argv[1], "w", 1), sys.argv[2]
step = 0
while not os.path.exists(stop):
    x, y = data[step % len(data)]
    before = time.perf_counter()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
    loss.backward()
    optimizer.step()
    print(loss.item().hex(), time.perf_counter() - before, file=out)
    step += 1
"""


def facts(pid):
    folder = f"/proc/{pid}/"
    with open(folder + "maps") as maps:
        mappings = sum("ridge-spool" in line for line in maps)
    return len(os.listdir(folder + "task")), len(os.listdir(folder + "fd")), mappings


def settled(pid, expected):
    for _ in range(100):
        if expected is None or facts(pid) == expected:
            break
        time.sleep(0.05)
    return facts(pid)


def attach(pid, trace):
    done = subprocess.run([RIDGE, "record", "-f", "-p", str(pid), "--duration", "0.2", "-o", trace], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip()
    report = json.loads(subprocess.run([RIDGE, "report", trace, "--json", "--no-verdict"], capture_output=True, text=True).stdout)
    lines = report["lines"]
    if not lines["calls"] or lines["named_calls"] != lines["calls"]:
        return f"{lines['named_calls']} of {lines['calls']} calls have a line: {done.stderr.strip()}"
    return ""


def read(path):
    with open(path) as file:
        rows = [line.split() for line in file if line.endswith("\n")]
    return [row[0] for row in rows], [float(row[1]) for row in rows]


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    end = time.monotonic() + (float(sys.argv[2]) if len(sys.argv) > 2 else 1e9)
    made = 0
    environment = dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":4096:8")
    right, first = 0, None
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program.py")
        paths = [os.path.join(folder, name) for name in ("attached", "alone")]
        with open(program, "w") as file:
            file.write(PROGRAM)
        process, alone = [subprocess.Popen([sys.executable, program, path, path + ".stop"], env=environment) for path in paths]
        while not os.path.exists(paths[0]) or os.path.getsize(paths[0]) < 20000:
            time.sleep(0.1)
        before = len(read(paths[0])[1])
        for i in range(times):
            if time.monotonic() > end:
                break
            made += 1
            wrong = attach(process.pid, os.path.join(folder, "t.ridge"))
            now = settled(process.pid, first)
            first = first or now
            if not wrong and now != first:
                wrong = f"threads, descriptors and mapped spools: {now}, not {first}"
            right += not wrong
            if wrong:
                print(f"{i}: {wrong}")
        time.sleep(2)
        open(paths[0] + ".stop", "w").close()
        status = process.wait()
        losses, took = read(paths[0])
        while alone.poll() is None and len(read(paths[1])[0]) < len(losses):
            time.sleep(1)
        open(paths[1] + ".stop", "w").close()
        alone.wait()
        same = losses == read(paths[1])[0][: len(losses)]
    print(f"status {status}; {len(losses)} losses {'are' if same else 'ARE NOT'} those of the process that was left alone")
    print(f"a step: {statistics.median(took[20:before]) * 1e6:.0f} us before, {statistics.median(took[-500:]) * 1e6:.0f} us after")
    print(f"{right} of {made} recordings are right")
    return 0 if right == made and same and status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
