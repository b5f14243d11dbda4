"""Hold-out set 1: programs with one known fault each, and healthy ones.

Every entry of PROGRAMS is (function, first findings that are right, words of the remedy). The function
takes `fixed` and returns a step; with `fixed` the step does the same job without the fault. The programs
were written from a list of faults, before the rules were read; docs/holdout.md has the protocol."""

import math

STEPS = 60


def torch_modules():
    import torch
    import torch.nn as nn
    import torch.nn.functional as functional
    return torch, nn, functional


# ---- kernels ----


def attention(fixed):
    torch, nn, functional = torch_modules()
    width, heads, length = 1024, 16, 2048
    project = nn.Linear(width, 3 * width).to("cuda", torch.bfloat16)
    x = torch.randn(8, length, width, device="cuda", dtype=torch.bfloat16)

    @torch.no_grad()
    def step():
        q, k, v = (t.view(8, length, heads, -1).transpose(1, 2) for t in project(x).chunk(3, dim=-1))
        if fixed:
            y = functional.scaled_dot_product_attention(q, k, v)
        else:
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(width // heads)
            y = scores.softmax(dim=-1) @ v
        return y.transpose(1, 2).reshape(8, length, width)

    return step


def conv_layout(fixed):
    torch, nn, _ = torch_modules()
    layers = []
    for _ in range(6):
        layers += [nn.Conv2d(128, 128, 3, padding=1, bias=False), nn.BatchNorm2d(128), nn.ReLU(inplace=True)]
    model = nn.Sequential(*layers).to("cuda", torch.float16).eval()
    x = torch.randn(64, 128, 56, 56, device="cuda", dtype=torch.float16)
    if fixed:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)

    @torch.no_grad()
    def step():
        return model(x)

    return step


def float32_products(fixed):
    torch, nn, _ = torch_modules()
    if fixed:
        torch.set_float32_matmul_precision("high")
    model = nn.Sequential(nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 4096)).cuda()
    optimizer, x = torch.optim.SGD(model.parameters(), lr=1e-3), torch.randn(4096, 4096, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        optimizer.step()

    return step


def float64_by_accident(fixed):
    torch, _, _ = torch_modules()
    import numpy
    weights = torch.from_numpy(numpy.random.standard_normal((3072, 3072))).cuda()
    x = torch.from_numpy(numpy.random.standard_normal((3072, 3072))).cuda()
    if fixed:
        weights, x = weights.float(), x.float()
    return lambda: torch.tanh(x @ weights) @ weights


def gelu_by_hand(fixed):
    torch, _, functional = torch_modules()
    x = torch.randn(64, 1024, 1024, device="cuda")

    def step():
        if fixed:
            return functional.gelu(x, approximate="tanh")
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    return step


def scatter_hot_rows(fixed):
    torch, _, functional = torch_modules()
    index = torch.randint(0, 4, (1 << 18,), device="cuda")
    values = torch.randn(1 << 18, 64, device="cuda")
    one_hot = functional.one_hot(index, 4).float().t().contiguous()

    def step():
        if fixed:
            return one_hot @ values
        return torch.zeros(4, 64, device="cuda").index_add_(0, index, values)

    return step


def growing_cache(fixed):
    torch, _, functional = torch_modules()
    tokens, layers = 96, 12
    q = torch.randn(16, 16, 1, 128, device="cuda", dtype=torch.bfloat16)
    prompt = torch.randn(layers, 2, 16, 16, 2048, 128, device="cuda", dtype=torch.bfloat16)
    room = torch.empty(layers, 2, 16, 16, 2048 + tokens, 128, device="cuda", dtype=torch.bfloat16)
    room[..., :2048, :] = prompt
    caches = [(prompt[i, 0], prompt[i, 1]) for i in range(layers)]
    position = [0]

    @torch.no_grad()
    def step():
        if position[0] == tokens:
            position[0] = 0
            for i in range(layers):
                caches[i] = (prompt[i, 0], prompt[i, 1])
        at = 2048 + position[0]
        for i in range(layers):
            if fixed:
                room[i, 0, :, :, at:at + 1] = q
                room[i, 1, :, :, at:at + 1] = q
                k, v = room[i, 0, :, :, :at + 1], room[i, 1, :, :, :at + 1]
            else:
                k, v = torch.cat([caches[i][0], q], dim=2), torch.cat([caches[i][1], q], dim=2)
                caches[i] = (k, v)
            functional.scaled_dot_product_attention(q, k, v)
        position[0] += 1

    return step


# ---- launches and host code ----


def many_tensor_model(torch, nn, count=160, width=64):
    return nn.ModuleList([nn.Linear(width, width) for _ in range(count)]).cuda()


def adam_by_tensor(fixed):
    torch, nn, _ = torch_modules()
    model = many_tensor_model(torch, nn)
    for p in model.parameters():
        p.grad = torch.randn_like(p) * 1e-3
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True) if fixed else \
        torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
    return optimizer.step


def clip_by_loop(fixed):
    torch, nn, _ = torch_modules()
    model = many_tensor_model(torch, nn)
    parameters = list(model.parameters())
    for p in parameters:
        p.grad = torch.randn_like(p)

    def step():
        if fixed:
            nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
            return
        for p in parameters:
            norm = p.grad.norm()
            p.grad.mul_(torch.clamp(1.0 / (norm + 1e-6), max=1.0))

    return step


def experts_one_by_one(fixed):
    torch, _, _ = torch_modules()
    x = torch.randn(64, 32, 128, device="cuda")
    weights = torch.randn(64, 128, 128, device="cuda")

    def step():
        if fixed:
            return torch.relu(torch.bmm(x, weights))
        return torch.stack([torch.relu(x[i] @ weights[i]) for i in range(64)])

    return step


def cupy_chain(fixed):
    import cupy

    def decay(x, y):
        return cupy.exp(-(x * x + y * y) / 2) * cupy.cos(3 * x + y) + 0.1 * x - 0.2 * y

    fused = cupy.fuse()(decay)
    x, y = cupy.random.rand(4096, 4096, dtype=cupy.float32), cupy.random.rand(4096, 4096, dtype=cupy.float32)
    return (lambda: fused(x, y)) if fixed else (lambda: decay(x, y))


def jax_without_jit(fixed):
    import jax
    import jax.numpy as jnp
    weights = [jax.random.normal(jax.random.PRNGKey(i), (256, 256)) / 16 for i in range(8)]
    x = jnp.ones((128, 256))

    def forward(x):
        for w in weights:
            h = x @ w
            h = h - h.mean(axis=-1, keepdims=True)
            x = x + jnp.where(h > 0, h, 0.1 * h)
        return x

    run = jax.jit(forward) if fixed else forward
    return lambda: run(x)


def jax_retrace(fixed):
    import jax
    import jax.numpy as jnp
    import numpy
    weights = jnp.ones((512, 512), dtype=jnp.bfloat16)

    @jax.jit
    def score(batch):
        h = jnp.tanh(batch @ weights)
        return (h * h).sum(axis=-1)

    lengths = iter(range(100, 4000))
    data = numpy.ones((4096, 512), dtype=numpy.float32)

    def step():
        length = next(lengths)
        batch = jnp.asarray(data[:length], dtype=jnp.bfloat16) if not fixed else \
            jnp.asarray(data[:1024], dtype=jnp.bfloat16)
        return score(batch)

    return step


jax_retrace.steps = 15


# ---- synchronization ----


def training_mlp(torch, nn, width=1024, depth=4, batch=256):
    model = nn.Sequential(*[m for _ in range(depth) for m in (nn.Linear(width, width), nn.ReLU())]).cuda()
    return model, torch.optim.Adam(model.parameters(), lr=1e-4, fused=True), \
        torch.randn(batch, width, device="cuda")


def loss_item(fixed):
    torch, nn, _ = torch_modules()
    model, optimizer, x = training_mlp(torch, nn, width=4096, depth=3, batch=512)
    total = [torch.zeros((), device="cuda") if fixed else 0.0]

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        total[0] += loss.detach() if fixed else loss.item()

    return step


def boolean_mask(fixed):
    torch, _, _ = torch_modules()
    x = torch.randn(2048, 2048, device="cuda")
    results = []

    def step():
        results.clear()
        for shift in range(16):
            y = x + shift
            if fixed:
                results.append(torch.where(y > 8, y, 0).sum() / (y > 8).sum())
            else:
                results.append(y[y > 8].mean())

    return step


def timed_steps(fixed):
    torch, nn, _ = torch_modules()
    import time
    model, optimizer, x = training_mlp(torch, nn)
    times = []

    def step():
        started = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        h = x
        for layer in model:
            h = layer(h)
            if not fixed:
                torch.cuda.synchronize()
                times.append(time.perf_counter() - started)
        h.square().mean().backward()
        optimizer.step()

    return step


# ---- copies and data ----


def many_small_copies(fixed):
    torch, _, _ = torch_modules()
    fields = [torch.randn(256) for _ in range(200)]
    weights = torch.randn(256, 256, device="cuda")

    def step():
        if fixed:
            batch = torch.stack(fields).pin_memory().to("cuda", non_blocking=True)
        else:
            batch = torch.stack([field.to("cuda") for field in fields])
        return batch @ weights

    return step


def pageable_batches(fixed):
    torch, nn, _ = torch_modules()
    model = nn.Conv2d(3, 32, 3).to("cuda")
    batch = torch.randn(128, 3, 224, 224)
    if fixed:
        batch = batch.pin_memory()

    @torch.no_grad()
    def step():
        return model(batch.to("cuda", non_blocking=fixed)).mean()

    return step


def list_to_tensor(fixed):
    torch, nn, _ = torch_modules()
    table = nn.Embedding(50000, 256).cuda()
    tokens = [[(i * j) % 50000 for j in range(512)] for i in range(64)]
    ready = torch.tensor(tokens).pin_memory()

    @torch.no_grad()
    def step():
        ids = ready.to("cuda", non_blocking=True) if fixed else torch.tensor(tokens, device="cuda")
        return table(ids).mean()

    return step


def slow_loader(fixed):
    torch, nn, _ = torch_modules()
    from torch.utils.data import DataLoader, Dataset

    class Images(Dataset):
        def __len__(self):
            return 100000

        def __getitem__(self, i):
            generator = torch.Generator().manual_seed(i)
            image = torch.randint(0, 255, (3, 224, 224), generator=generator, dtype=torch.uint8).float()
            image = image.flip(-1) if i % 2 else image
            return (image - image.mean()) / image.std(), i % 10

    loader = DataLoader(Images(), batch_size=16, num_workers=8 if fixed else 0, pin_memory=fixed,
                        persistent_workers=fixed, prefetch_factor=4 if fixed else None)
    model = nn.Sequential(nn.Conv2d(3, 64, 7, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
    optimizer, batches = torch.optim.SGD(model.parameters(), lr=1e-3), iter(loader)

    def step():
        images, labels = next(batches)
        images, labels = images.cuda(non_blocking=fixed), labels.cuda(non_blocking=fixed)
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


def normalize_on_cpu(fixed):
    torch, nn, _ = torch_modules()
    import numpy
    raw = numpy.random.randint(0, 255, (32, 224, 224, 3), dtype=numpy.uint8)
    model = nn.Conv2d(3, 64, 3, stride=2).cuda()

    @torch.no_grad()
    def step():
        if fixed:
            images = torch.from_numpy(raw).cuda().permute(0, 3, 1, 2).float().sub_(127).div_(64)
        else:
            images = torch.from_numpy((raw.transpose(0, 3, 1, 2).astype(numpy.float32) - 127) / 64).cuda()
        return model(images).mean()

    return step


def cache_emptied(fixed):
    torch, nn, _ = torch_modules()
    model, optimizer, x = training_mlp(torch, nn, width=2048, depth=4, batch=1024)

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        optimizer.step()
        if not fixed:
            torch.cuda.empty_cache()

    return step


def round_trip(fixed):
    torch, _, _ = torch_modules()
    import numpy
    x = torch.randn(4096, 1024, device="cuda")
    weights = torch.randn(1024, 1024, device="cuda") / 32

    def step():
        h = x @ weights
        if fixed:
            h = torch.sort(h, dim=-1).values[:, :64]
        else:
            h = torch.from_numpy(numpy.sort(h.cpu().numpy(), axis=-1)[:, :64].copy()).cuda()
        return h.sum()

    return step


# ---- healthy ----


def healthy_mlp(fixed):
    torch, nn, _ = torch_modules()
    model = nn.Sequential(nn.Linear(8192, 8192, bias=False), nn.Linear(8192, 8192, bias=False)).to("cuda", torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(x).sum().backward()
        optimizer.step()

    return step


def healthy_attention(fixed):
    torch, _, functional = torch_modules()
    q = torch.randn(8, 16, 8192, 128, device="cuda", dtype=torch.bfloat16)
    return lambda: functional.scaled_dot_product_attention(q, q, q, is_causal=True)


def healthy_jax(fixed):
    import jax
    import jax.numpy as jnp
    w = jnp.ones((8192, 8192), dtype=jnp.bfloat16)
    run = jax.jit(lambda x: jnp.dot(jnp.dot(x, w), w))
    x = jnp.ones((8192, 8192), dtype=jnp.bfloat16)
    return lambda: run(x)


PROGRAMS = [
    (attention, ["memory-bound"], "scaled_dot_product_attention"),
    (conv_layout, ["memory-bound", "latency-bound", "compute-bound"], "channels_last"),
    (float32_products, ["compute-bound"], "tf32|float32_matmul_precision|bf16|autocast"),
    (float64_by_accident, ["compute-bound"], "float32|\\.float\\(\\)"),
    (gelu_by_hand, ["memory-bound"], "compile|fuse"),
    (scatter_hot_rows, ["latency-bound", "memory-bound"], "atomic|sort|index_add|scatter"),
    (growing_cache, ["memory-bound"], "preallocat|static cache|StaticCache|index_copy"),
    (adam_by_tensor, ["launch-bound", "tiny-kernels", "host-bound"], "fused=True|foreach"),
    (clip_by_loop, ["launch-bound", "tiny-kernels", "host-bound"], "clip_grad_norm_|foreach"),
    (experts_one_by_one, ["launch-bound", "tiny-kernels", "host-bound", "small-grid"], "bmm|batch|vmap|baddbmm"),
    (cupy_chain, ["memory-bound"], "cupy\\.fuse|RawKernel|ElementwiseKernel"),
    (jax_without_jit, ["host-bound", "launch-bound"], "jax\\.jit"),
    (jax_retrace, ["compilation"], "pad|shape|bucket"),
    (loss_item, ["sync-in-loop", "launch-bound", "host-bound"], "\\.item\\(\\)"),
    (boolean_mask, ["sync-in-loop"], "nonzero|mask|torch\\.where"),
    (timed_steps, ["sync-in-loop", "launch-bound"], "synchronize"),
    (many_small_copies, ["small-transfers", "pageable"], "one copy|stack|pack|single copy|together"),
    (pageable_batches, ["pageable", "exposed-transfers"], "pin_memory"),
    (list_to_tensor, ["host-bound", "pageable"], "torch\\.tensor|list|numpy"),
    (slow_loader, ["input-pipeline"], "num_workers"),
    (normalize_on_cpu, ["host-bound", "input-pipeline"], "on the GPU|to the GPU|on the device|to the device"),
    (cache_emptied, ["allocation"], "empty_cache"),
    (round_trip, ["host-bound", "sync-in-loop", "exposed-transfers"], "on the GPU|on the device|stay"),
    (healthy_mlp, ["healthy"], ""),
    (healthy_attention, ["healthy"], ""),
    (healthy_jax, ["healthy"], ""),
]
