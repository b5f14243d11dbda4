"""Trains blocks under activation checkpointing, although their activations fit into the memory."""
# finding: compute-bound, memory-bound
# remedy: checkpoint
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def prepare(fixed):
    blocks = nn.ModuleList([nn.Sequential(nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 4096)) for _ in range(6)])
    blocks = blocks.to("cuda", torch.bfloat16)
    samples = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16)

    def train(steps):
        for _ in range(steps):
            x = samples
            for block in blocks:
                x = x + (block(x) if fixed else checkpoint(block, x, use_reentrant=False))
            blocks.zero_grad()
            x.float().square().mean().backward()

    return train


prepare.steps = 25
