"""Stops when a gradient is not finite; asks for each parameter in each step."""
import torch
from torch import nn


def prepare(fixed):
    model = nn.Sequential(*[nn.Sequential(nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU()) for _ in range(10)])
    model = model.cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    data = torch.randn(512, 512, device="cuda")

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = (model(data) - data).pow(2).mean()
            loss.backward()
            if not fixed:
                for name, parameter in model.named_parameters():
                    if not torch.isfinite(parameter.grad).all():
                        raise ValueError(name)
            optimizer.step()

    return train
