"""Programs as people run them, recorded whole and judged: set-up, warm-up and forty steps in one trace.

    RIDGE=build/ridge python3 tests/corpus/whole_runs.py [WORD]

Prints for each which finding leads, and how many are among those that may. Nothing here is a trace of the
corpus: what the rules were made to fit is not what they are asked here. Needs a GPU, PyTorch and JAX."""

import json
import os
import subprocess
import sys
import tempfile
import time

STEPS = 40
MAY_LEAD = {  # by the first word of a program's name
    "healthy": ["healthy"], "launch": ["launch-bound", "tiny-kernels"], "sync": ["sync-in-loop"], "host": ["host-bound"],
    "input": ["input-pipeline"], "pageable": ["pageable"], "exposed": ["exposed-transfers"], "allocation": ["allocation"],
    "memory": ["memory-bound"], "compute": ["compute-bound"], "grid": ["small-grid"],
}


def bf16(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def healthy_attention():
    q = bf16(16, 16, 4096, 128)
    return lambda: F.scaled_dot_product_attention(q, q, q, is_causal=True)


def healthy_training():
    model = nn.Sequential(nn.Linear(8192, 8192), nn.Linear(8192, 8192)).to("cuda", torch.bfloat16)
    optimizer, x = torch.optim.SGD(model.parameters(), lr=1e-3), bf16(8192, 8192)

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(x).sum().backward()
        optimizer.step()

    return step


def healthy_graph():
    model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(8)]).to("cuda", torch.bfloat16)
    optimizer, x = torch.optim.SGD(model.parameters(), lr=1e-3), bf16(512, 1024)

    def train():
        optimizer.zero_grad(set_to_none=False)
        model(x).square().mean().backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            train()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        train()
    return lambda: [graph.replay() for _ in range(5)]


def healthy_products():
    a = bf16(64, 2048, 2048)
    return lambda: torch.bmm(a, a)


def healthy_jax():
    a, product = jnp.ones((8192, 8192), jnp.bfloat16), jax.jit(lambda x: x @ x)
    return lambda: product(a)


def launch_deep():
    block = lambda: nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU())
    model, x = nn.Sequential(*[block() for _ in range(100)]).to("cuda", torch.bfloat16).eval(), bf16(16, 64)
    return torch.no_grad()(lambda: model(x))


def launch_rows():
    table, row = torch.zeros(1000, 128, device="cuda"), torch.randn(128, device="cuda")
    return lambda: [table[i].copy_(row).mul_(2) for i in range(400)]


def launch_recurrent():
    cell, inputs = nn.GRUCell(128, 128).cuda(), torch.randn(150, 4, 128, device="cuda")

    def step():
        state, outputs = torch.zeros(4, 128, device="cuda"), []
        for x in inputs:
            state = cell(x, state)
            outputs.append(state)
        torch.stack(outputs).sum().backward()

    return step


def launch_jax():
    a = jnp.ones((64, 64))

    def step():
        y = a
        for _ in range(100):
            y = jnp.tanh(y + 1.0)
        return y

    return step


def sync_nonzero():
    w, chosen = bf16(3072, 3072), (torch.arange(3072, device="cuda") % 2).float()

    def step():
        for _ in range(8):
            (w @ w).index_select(0, torch.nonzero(chosen)[:, 0])

    return step


def sync_if():
    w = bf16(2560, 2560)

    def step():
        for _ in range(10):
            if (w @ w).isnan().any():
                sys.exit("not a number")

    return step


def host_json():
    w, metrics = bf16(4096, 4096), {str(i): list(range(40)) for i in range(2000)}

    def step():
        for _ in range(10):
            w @ w
        torch.cuda.synchronize()
        json.loads(json.dumps(metrics))

    return step


def host_sorting():
    w, values = bf16(4096, 4096), torch.rand(1500, 1500).numpy()

    def step():
        for _ in range(20):
            w @ w
        values.copy().sort(axis=0)

    return step


def batches(workers, cost):
    class Images(torch.utils.data.Dataset):
        def __len__(self):
            return 64 * STEPS * 6

        def __getitem__(self, index):
            total = 0
            for i in range(cost):
                total += i * index
            return torch.zeros(3, 64, 64)

    loader = iter(torch.utils.data.DataLoader(Images(), batch_size=64, num_workers=workers))
    forward = convolutions()
    return lambda: forward(next(loader).to("cuda"))


def convolutions():
    model = nn.Sequential(nn.Conv2d(3, 128, 3, padding=1), nn.Conv2d(128, 128, 3, padding=1)).to("cuda", torch.bfloat16)
    return torch.no_grad()(lambda images: model(images.bfloat16()))


def input_same_process():
    return batches(0, 2500)


def input_one_worker():
    return batches(1, 5000)


def pageable_batch():
    images, forward = torch.randn(64, 3, 256, 256), convolutions()
    return lambda: forward(images.cuda())


def exposed_pinned():
    images, w = torch.randn(256, 3, 256, 256).pin_memory(), bf16(4096, 4096)

    def step():
        copied = images.to("cuda", non_blocking=True)
        for _ in range(8):
            w @ w
        return copied

    return step


def allocation_uncached():
    w = bf16(1024, 1024)

    def step():
        y = w
        for _ in range(20):
            y = torch.relu(y @ w)

    return step


def memory_chain():
    x, b = bf16(64 << 20), bf16(64 << 20)
    return lambda: torch.sigmoid(F.gelu(x + b) * 0.5 + x)


def memory_norms():
    block = lambda: nn.Sequential(nn.LayerNorm(4096), nn.ReLU(), nn.Dropout(0.1))
    model, x = nn.Sequential(*[block() for _ in range(4)]).to("cuda", torch.bfloat16), bf16(16384, 4096)
    return torch.no_grad()(lambda: model(x))


def compute_f32():
    torch.backends.cuda.matmul.allow_tf32 = False
    model, x = nn.Linear(4096, 4096).cuda(), torch.randn(4096, 4096, device="cuda")
    return torch.no_grad()(lambda: torch.relu(model(x)))


def grid_scan():
    x = torch.randn(2, 8 << 20, device="cuda")
    return lambda: torch.cumsum(x, 1)


PROGRAMS = {name: value for name, value in list(globals().items()) if callable(value) and name.split("_")[0] in MAY_LEAD}


def run_program(name):
    step = PROGRAMS[name]()
    for count in (5, STEPS):
        for _ in range(count):
            last = step()
        if "jax" in name:
            last.block_until_ready()
        else:
            torch.cuda.synchronize()


def judge(ridge, name, folder):
    trace = os.path.join(folder, name + ".ridge")
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"} if name == "allocation_uncached" else None
    recorded = subprocess.run([ridge, "record", "-q", "-o", trace, "--", sys.executable, __file__, "--run", name], env=environment, capture_output=True, text=True)
    if recorded.returncode != 0:
        return ["cannot run: " + recorded.stderr.strip().splitlines()[-1][:80]]
    report = json.loads(subprocess.run([ridge, "report", trace, "--json"], capture_output=True, text=True, check=True).stdout)
    return [finding["kind"] for finding in report["verdict"]["findings"] if not finding["minor"]]


def main():
    ridge = os.path.abspath(os.environ.get("RIDGE", "build/ridge"))
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    right = asked = 0
    if not os.access(ridge, os.X_OK):
        sys.exit(f"{ridge} is no program: make it, or say where it is with RIDGE=")
    if not any(word in name for name in PROGRAMS):
        sys.exit(f"no program has '{word}' in its name: {', '.join(PROGRAMS)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in PROGRAMS:
            if word not in name:
                continue
            began = time.monotonic()
            kinds = judge(ridge, name, folder)
            good = bool(kinds) and kinds[0] in MAY_LEAD[name.split("_")[0]]
            right, asked = right + good, asked + 1
            print(f"{'ok  ' if good else 'MISS'} {name:20s} {', '.join(kinds)} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{right} of {asked} lead with what they were made for")


if sys.argv[1:2] == ["--run"] and sys.argv[2:] and sys.argv[2] in PROGRAMS:
    if "jax" in sys.argv[2]:
        import jax
        import jax.numpy as jnp
    else:
        import torch
        import torch.nn.functional as F
        from torch import nn
    run_program(sys.argv[2])
else:
    main()
