"""Trains a wide network in bfloat16 with a fused optimizer."""
# finding: healthy
import torch
from torch import nn


def prepare(fixed):
    kind = {"device": "cuda", "dtype": torch.bfloat16}
    model = nn.Sequential(nn.Linear(8192, 16384, **kind), nn.ReLU(), nn.Linear(16384, 8192, **kind))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    samples = torch.randn(16384, 8192, **kind)

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = (model(samples) - samples).float().square().mean()
            loss.backward()
            optimizer.step()

    return train


prepare.steps = 20
