"""Trains an encoder whose attention also returns its weights, which nobody reads."""
# finding: memory-bound
# remedy: need_weights|scaled_dot_product
import torch
from torch import nn


def prepare(fixed):
    attention = nn.MultiheadAttention(1024, 16, batch_first=True).to("cuda", torch.bfloat16)
    states = torch.randn(8, 2048, 1024, device="cuda", dtype=torch.bfloat16)

    def train(steps):
        for _ in range(steps):
            attention.zero_grad()
            result, _ = attention(states, states, states, need_weights=not fixed)
            result.float().square().mean().backward()

    return train


prepare.steps = 30
