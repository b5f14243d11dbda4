"""Steps of usual PyTorch programs, to which faults are added. A base is a function that is called
once a step; it calls `between` where a fault may come between its layers. The amount says how large
it is: with 1 a step keeps an H200 busy for about a millisecond."""

import torch


class Block(torch.nn.Module):
    """A transformer block."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.first(x)).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(torch.nn.functional.gelu(self.up(self.second(x))))


def nothing(gpu, amount):
    return lambda between: None


def mlp(gpu, amount):
    """A training step: forward, backward, SGD."""
    width, batch = gpu.size(2048, 32), int(gpu.size(8192, 8) * amount)
    model = torch.nn.Sequential(
        torch.nn.Linear(width, 2 * width), torch.nn.ReLU(), torch.nn.Linear(2 * width, width), torch.nn.ReLU(), torch.nn.Linear(width, 16)
    ).to(gpu.device, torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(batch, width, device=gpu.device, dtype=torch.bfloat16)
    target = torch.randint(16, (batch,), device=gpu.device)

    def step(between):
        optimizer.zero_grad(set_to_none=True)
        y = model(x)
        between()
        loss = torch.nn.functional.cross_entropy(y, target)
        loss.backward()
        between()
        optimizer.step()
        return loss

    return step


def block(gpu, amount):
    """Inference of transformer blocks."""
    width, tokens = gpu.size(2048, 64), gpu.size(1024, 8)
    batch = max(1, int(8 * amount))
    layers = [Block(width, 16).to(gpu.device, torch.bfloat16).eval()]
    x = torch.randn(batch, tokens, width, device=gpu.device, dtype=torch.bfloat16)

    @torch.inference_mode()
    def step(between):
        y = x
        for layer in layers:
            y = layer(y)
            between()
        return y

    return step


def conv(gpu, amount):
    """Inference of a stack of convolutions."""
    channels, side = gpu.size(512, 8), gpu.size(28, 8)
    batch = max(1, int(32 * amount))
    layers = torch.nn.ModuleList([torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(4)])
    layers = layers.to(gpu.device, torch.bfloat16, memory_format=torch.channels_last)
    x = torch.randn(batch, channels, side, side, device=gpu.device, dtype=torch.bfloat16).to(memory_format=torch.channels_last)

    @torch.inference_mode()
    def step(between):
        y = x
        for layer in layers:
            y = layer(y).relu_()
            between()
        return y

    return step


def embed(gpu, amount):
    """Rows of a table, summed."""
    rows, width = gpu.size(1 << 20, 64), gpu.size(256, 16)
    table = torch.randn(rows, width, device=gpu.device)
    indices = torch.randint(rows, (int(gpu.size(1 << 19, 32) * amount), 4), device=gpu.device)

    @torch.inference_mode()
    def step(between):
        y = torch.nn.functional.embedding_bag(indices, table, mode="sum")
        between()
        return y.sum(1)

    return step


def layers(gpu, amount):
    """Matrix products one after another, each some 60 us on an H200."""
    width, rows = gpu.size(2048, 32), gpu.size(4096, 8)
    weights = [torch.randn(width, width, device=gpu.device, dtype=torch.bfloat16) / width**0.5 for _ in range(8)]
    x = torch.randn(rows, width, device=gpu.device, dtype=torch.bfloat16)
    count = max(1, int(16 * amount))

    @torch.inference_mode()
    def step(between):
        y = x
        for i in range(count):
            y = torch.nn.functional.linear(y, weights[i % 8])
            between()
        return y

    return step


def gemm(gpu, amount):
    """Large matrix products."""
    width = gpu.size(4096 if amount < 4 else 8192, 64)
    a = torch.randn(width, width, device=gpu.device, dtype=torch.bfloat16)
    b = torch.randn(width, width, device=gpu.device, dtype=torch.bfloat16)
    count = 4 if amount < 4 else 2

    @torch.inference_mode()
    def step(between):
        for _ in range(count):
            y = a @ b
            between()
        return y

    return step


def train_block(gpu, amount):
    """Training of a transformer block."""
    width, tokens = gpu.size(2048, 64), gpu.size(1024, 8)
    layer = Block(width, 16).to(gpu.device, torch.bfloat16)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1e-4)
    x = torch.randn(max(1, int(8 * amount)), tokens, width, device=gpu.device, dtype=torch.bfloat16)

    def step(between):
        optimizer.zero_grad(set_to_none=True)
        loss = layer(x).float().square().mean()
        between()
        loss.backward()
        optimizer.step()
        return loss

    return step


BASES = {word.__name__: word for word in (nothing, mlp, block, conv, embed, layers, gemm, train_block)}
