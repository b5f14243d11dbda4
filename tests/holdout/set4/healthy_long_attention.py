"""Forward and backward passes of attention over long sequences with a fused kernel."""
# finding: healthy
import torch
from torch.nn import functional


def prepare(fixed):
    shape = (2, 16, 16384, 128)
    q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    slope = torch.randn(shape, device="cuda", dtype=torch.bfloat16)

    def train(steps):
        for _ in range(steps):
            q.grad = k.grad = v.grad = None
            functional.scaled_dot_product_attention(q, k, v, is_causal=True).backward(slope)

    return train


prepare.steps = 30
