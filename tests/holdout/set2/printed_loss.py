"""Writes the loss of every batch into a log."""
import os

import torch
from torch import nn


def prepare(fixed):
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).to("cuda", torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    batch = torch.randn(8192, 1024, device="cuda", dtype=torch.bfloat16)
    log = open(os.devnull, "w")

    def train(steps):
        for step in range(steps):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(batch), batch)
            loss.backward()
            optimizer.step()
            if not fixed or step % 50 == 0:
                print(f"step {step}: loss {loss:.4f}", file=log)

    return train


prepare.steps = 200
