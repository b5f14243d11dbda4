"""Projects states to a vocabulary whose size is odd."""
# finding: compute-bound, latency-bound, memory-bound
# remedy: multiple of|pad|align
import torch
from torch import nn


def prepare(fixed):
    head = nn.Linear(1024, 50304 if fixed else 50257, bias=False).to("cuda", torch.bfloat16)
    states = torch.randn(8192, 1024, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    slope = torch.randn(8192, head.out_features, device="cuda", dtype=torch.bfloat16)

    def train(steps):
        for _ in range(steps):
            states.grad = head.weight.grad = None
            head(states).backward(slope)

    return train


prepare.steps = 40
