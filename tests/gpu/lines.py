#!/usr/bin/env python3
"""Steps and lines of small whole programs on a real GPU, by hand:

    BUILD=build JOBS=6 tests/gpu/lines.py [WORD...]

Each program below runs alone under `ridge record`. The number of steps must be that of the program's
own loop, and lines with a comment `launches=N` must have launched N activities in all. Lines with a comment
`captured` or `backward` must have device time in graphs or in the backward pass. Prints a line for each
program, and at last how many were right."""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

RIDGE = os.path.join(os.path.abspath(os.environ.get("BUILD", "build")), "ridge")

TORCH = """
import torch
from torch import nn
torch.manual_seed(0)
def make(width=64, depth=3):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 8)).cuda()
"""
TRAIN = TORCH + """
net = make()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def loss_of(x, y):
    return nn.functional.cross_entropy(net(x), y)
def batch(n=32):
    return torch.randn(n, 64, device="cuda"), torch.randint(8, (n,), device="cuda")
"""

# name: (number of steps, source)
PROGRAMS = {
    "plain": (20, TRAIN + """
for step in range(20):
    x, y = batch()
    optimizer.zero_grad()
    loss = loss_of(x, y)
    loss.backward()
    optimizer.step()
"""),
    "sync": (15, TRAIN + """
for step in range(15):
    x, y = batch()
    optimizer.zero_grad()
    loss = loss_of(x, y)
    loss.backward()
    optimizer.step()
    print(loss.item())
"""),
    "epochs": (3 * 12, TRAIN + """
def evaluate():
    with torch.no_grad():
        for x, y in test:
            net(x.cuda()).argmax(1)
train = [(torch.randn(16, 64), torch.randint(8, (16,))) for _ in range(12)]
test = train[:3]
def main():
    for epoch in range(3):
        for x, y in train:
            optimizer.zero_grad()
            loss_of(x.cuda(), y.cuda()).backward()
            optimizer.step()
        evaluate()
main()
"""),
    "accumulate": (8, TRAIN + """
for step in range(8):
    optimizer.zero_grad()
    for micro in range(4):
        x, y = batch()
        loss_of(x, y).backward()
    optimizer.step()
"""),
    "accumulate_modulo": (24, TRAIN + """
for i in range(24):
    x, y = batch()
    (loss_of(x, y) / 4).backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""),
    "log_every": (40, TRAIN + """
for i in range(40):
    x, y = batch()
    optimizer.zero_grad()
    loss = loss_of(x, y)
    loss.backward()
    optimizer.step()
    if i % 10 == 0:
        print(i, loss.item())
"""),
    "log_first": (25, TRAIN + """
for i in range(25):
    if i % 5 == 0:
        print(torch.ones(1, device="cuda").item())
    x, y = batch()
    optimizer.zero_grad()
    loss_of(x, y).backward()
    optimizer.step()
"""),
    "step_function": (18, TRAIN + """
def train_step():
    x, y = batch()
    optimizer.zero_grad()
    loss = loss_of(x, y)
    loss.backward()
    optimizer.step()
    return loss
for i in range(18):
    train_step()
"""),
    "while_loop": (13, TRAIN + """
done = 0
while done < 13:
    x, y = batch()
    loss_of(x, y).backward()
    optimizer.step()
    done += 1
"""),
    "adam": (16, TRAIN + """
optimizer = torch.optim.AdamW(net.parameters())
for step in range(16):
    x, y = batch()
    optimizer.zero_grad()
    loss_of(x, y).backward()
    optimizer.step()
"""),
    "inference": (30, TORCH + """
net = make()
x = torch.randn(8, 64, device="cuda")
with torch.no_grad():
    for i in range(30):
        y = net(x)
        y.sum().item()
"""),
    "inference_no_sync": (30, TORCH + """
net = make()
x = torch.randn(8, 64, device="cuda")
with torch.no_grad():
    for i in range(30):
        z = net(x)
        w = z * 2
torch.cuda.synchronize()
"""),
    "one_line": (50, TORCH + """
x = torch.randn(64, 64, device="cuda")
for i in range(50):
    y = x + 1  # launches=50
torch.cuda.synchronize()
"""),
    "three_lines": (40, TORCH + """
x = torch.randn(64, 64, device="cuda")
for i in range(40):
    y = x + 1  # launches=40
    z = y * y  # launches=40
    w = z.relu()  # launches=40
torch.cuda.synchronize()
"""),
    "nested_functions": (12, TORCH + """
def inner(x):
    return x * 2  # launches=36
def middle(x):
    for _ in range(3):
        x = inner(x)
    return x + 1  # launches=12
x = torch.ones(1000, device="cuda")
for step in range(12):
    y = middle(x)
    z = y - x  # launches=12
torch.cuda.synchronize()
"""),
    "generate": (24, TORCH + """
net = make()
state = torch.randn(1, 64, device="cuda")
tokens = []
with torch.no_grad():
    while len(tokens) < 24:
        logits = net(state)
        tokens.append(int(logits.argmax()))
"""),
    "generate_prompts": (4 * 10, TORCH + """
net = make()
with torch.no_grad():
    for prompt in range(4):
        state = torch.randn(1, 64, device="cuda")
        for token in range(10):
            state = torch.tanh(state + net(state).sum())
            state.sum().item()
"""),
    "transformer": (10, TORCH + """
layer = nn.TransformerEncoderLayer(64, 4, batch_first=True).cuda()
model = nn.TransformerEncoder(layer, 3).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(4, 16, 64, device="cuda")
for step in range(10):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
"""),
    "lstm": (9, TORCH + """
model = nn.LSTM(32, 32, 2).cuda()
x = torch.randn(20, 4, 32, device="cuda")
for step in range(9):
    y, _ = model(x)
    y.mean().backward()
    model.zero_grad()
"""),
    "loader": (10, TRAIN + """
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.randn(320, 64), torch.randint(8, (320,)))
for x, y in DataLoader(data, batch_size=32, pin_memory=True):
    optimizer.zero_grad()
    loss_of(x.cuda(), y.cuda()).backward()
    optimizer.step()
"""),
    "loader_workers": (10, TRAIN + """
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.randn(320, 64), torch.randint(8, (320,)))
for x, y in DataLoader(data, batch_size=32, num_workers=2):
    optimizer.zero_grad()
    loss_of(x.cuda(non_blocking=True), y.cuda()).backward()
    optimizer.step()
"""),
    "graph": (20, TORCH + """
x = torch.ones(1000, device="cuda")
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    y = x * 2 + 1
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2 + 1
for step in range(20):
    graph.replay()  # launches=20
    torch.cuda.synchronize()
"""),
    "graph_nodes": (20, TORCH + """
x = torch.ones(1000, device="cuda")
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    y = x * 2 + 1
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2  # captured
    z = y + 1  # captured
for step in range(20):
    graph.replay()  # launches=40
    torch.cuda.synchronize()
"""),
    "forward_lines": (10, TRAIN + """
with torch.autograd.profiler.emit_nvtx():
    for step in range(10):
        x, y = batch()
        hidden = net[0](x)  # backward
        hidden = net[1](hidden)  # backward
        loss = hidden.square().mean()  # backward
        loss.backward()
        torch.cuda.synchronize()
"""),
    "explicit_gradient": (14, TRAIN + """
g = torch.ones(32, 8, device="cuda")
for step in range(14):
    x, _ = batch()
    out = net(x)
    out.backward(g)
    optimizer.step()
    optimizer.zero_grad()
"""),
    "custom_function": (11, TORCH + """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2  # launches=11
    @staticmethod
    def backward(ctx, g):
        return g * 2  # launches=11
x = torch.ones(1000, device="cuda", requires_grad=True)
for step in range(11):
    loss = Double.apply(x).sum()
    loss.backward()
    x.grad = None
torch.cuda.synchronize()
"""),
    "gan": (12, TORCH + """
g, d = make(), make()
a = torch.optim.SGD(g.parameters(), lr=0.1)
b = torch.optim.SGD(d.parameters(), lr=0.1)
z = torch.randn(16, 64, device="cuda")
for iteration in range(12):
    b.zero_grad()
    d(z).mean().backward()
    b.step()
    a.zero_grad()
    (-g(z).mean()).backward()
    a.step()
"""),
    "exceptions": (20, TORCH + """
x = torch.ones(100, device="cuda")
for step in range(20):
    try:
        y = x + 1  # launches=20
        if step % 3 == 0:
            raise ValueError
        z = y * 2  # launches=13
    except ValueError:
        w = y - 1  # launches=7
torch.cuda.synchronize()
"""),
    "class_trainer": (2 * 15, TRAIN + """
class Trainer:
    def fit(self, epochs):
        for epoch in range(epochs):
            self.run_epoch()
    def run_epoch(self):
        for i in range(15):
            self.step()
        torch.cuda.synchronize()
    def step(self):
        x, y = batch()
        optimizer.zero_grad()
        loss_of(x, y).backward()
        optimizer.step()
Trainer().fit(2)
"""),
    "thread": (16, TRAIN + """
import threading
def work():
    for step in range(16):
        x, y = batch()
        optimizer.zero_grad()
        loss_of(x, y).backward()
        optimizer.step()
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""),
    "mixed_precision": (12, TRAIN + """
scaler = torch.amp.GradScaler("cuda")
for step in range(12):
    x, y = batch()
    optimizer.zero_grad()
    with torch.autocast("cuda"):
        loss = loss_of(x, y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""),
    "comprehension": (22, TORCH + """
x = torch.ones(100, device="cuda")
def step(i):
    y = x + i  # launches=22
    return (y * 2).sum()
results = [step(i) for i in range(22)]
torch.cuda.synchronize()
"""),
    "cupy": (25, """
import cupy
x = cupy.ones(1000)
for step in range(25):
    y = x + 1  # launches=25
    z = y * 2  # launches=25
cupy.cuda.Device().synchronize()
"""),
    "cupy_nested": (10, """
import cupy
def solve(x):
    for _ in range(5):
        x = x * 0.5  # launches=50
    return x
x = cupy.ones(1000)
for iteration in range(10):
    y = solve(x)
    float(y[0])
"""),
    "jax": (20, """
import jax, jax.numpy as jnp
x = jnp.ones((64, 64))
f = jax.jit(lambda x: jnp.tanh(x @ x).sum())
f(x).block_until_ready()
for step in range(20):
    y = f(x)
    y.block_until_ready()
"""),
    "jax_train": (15, """
import jax, jax.numpy as jnp
w = jnp.ones((64, 64))
x = jnp.ones((8, 64))
@jax.jit
def update(w):
    return w - 0.1 * jax.grad(lambda w: ((x @ w) ** 2).mean())(w)
w = update(w)
for step in range(15):
    w = update(w)
    print(float(w[0, 0]))
"""),
}


def expected_launches(source):
    lines = enumerate(source.splitlines(), 1)
    return {n: int(m.group(1)) for n, line in lines for m in [re.search(r"launches=(\d+)", line)] if m}


def expected_origins(source):
    """Lines whose work other lines launch: in graphs that they captured, or in the backward pass."""
    lines = enumerate(source.splitlines(), 1)
    return {n: m.group(1) + "_ns" for n, line in lines for m in [re.search(r"# (captured|backward)$", line)] if m}


def check(name, folder):
    steps, source = PROGRAMS[name]
    program, trace = os.path.join(folder, f"program_{name}.py"), os.path.join(folder, name + ".ridge")
    with open(program, "w") as file:
        file.write(source)
    environment = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false")
    options = ["--graph", "node"] if "nodes" in name else []
    try:
        done = subprocess.run([RIDGE, "record", "--no-sampling", *options, "-f", "-o", trace, "--", sys.executable, program],
                              capture_output=True, text=True, timeout=150, env=environment)
    except subprocess.TimeoutExpired:
        return False, "the program does not end"
    if done.returncode != 0:
        return False, "the program fails: " + done.stderr.strip()[-300:]
    report = json.loads(subprocess.run([RIDGE, "report", trace, "--json", "--no-verdict"], capture_output=True, text=True).stdout)
    lines, found = report["lines"], report["steps"]
    seen = {one["line"]: one["activities"] for one in lines["list"] if one["file"] == program}
    wrong = [f"line {n}: {seen.get(n, 0)} of {count}" for n, count in expected_launches(source).items() if seen.get(n, 0) != count]
    own = {one["line"]: one for one in lines["list"] if one["file"] == program}
    wrong += [f"line {n}: no {key}" for n, key in expected_origins(source).items() if not own.get(n, {}).get(key)]
    named = lines["named_device_ns"] == lines["device_ns"] or "jax" in name  # XLA tunes kernels on threads without Python
    right = found["count"] == steps and not wrong and named
    loops = "; ".join(f"{loop['line']}:{loop['turns']}{'*' if loop['is_step'] else ''}" for loop in found["loops"])
    said = "" if right else " [" + " | ".join(done.stderr.split("\n"))[-200:] + "]"
    return right, (f"steps {found['count']} of {steps} by {found['source']}; calls with a line {lines['named_calls']} of "
                   f"{lines['calls']}; loops {loops[:80]} {' '.join(wrong)}{said}")


def main():
    words = sys.argv[1:] or [""]
    names = [name for name in PROGRAMS if any(word in name for word in words)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "6"))) as pool:
        keep = os.environ.get("KEEP", folder)
        results = list(pool.map(lambda name: (name, *check(name, keep)), names))
    for name, right, text in results:
        print(f"{'ok ' if right else 'BAD'} {name:18} {text}")
    print(f"{sum(right for _, right, _ in results)} of {len(results)} programs are right")
    return 0 if all(right for _, right, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
