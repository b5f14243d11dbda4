"""Trains an autoencoder; the search for NaN of an old bug is still switched on."""
# finding: sync-in-loop, launch-bound, host-bound
# remedy: detect_anomaly|anomaly
import torch
from torch import nn


def prepare(fixed):
    layers = []
    for _ in range(12):
        layers += [nn.Linear(1024, 1024), nn.LayerNorm(1024), nn.SiLU()]
    model = nn.Sequential(*layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    samples = torch.randn(512, 1024, device="cuda")

    def train(steps):
        with torch.autograd.set_detect_anomaly(not fixed):
            for _ in range(steps):
                optimizer.zero_grad()
                (model(samples) - samples).square().mean().backward()
                optimizer.step()

    return train


prepare.steps = 60
