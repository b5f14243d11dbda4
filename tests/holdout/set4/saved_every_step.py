"""Saves the weights after every step of the training."""
# finding: host-bound, pageable, exposed-transfers
# remedy: torch\.save|sav(e|ing)|checkpoint
import os
import tempfile

import torch
from torch import nn


def prepare(fixed):
    model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(8)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    samples = torch.randn(2048, 1024, device="cuda")
    path = os.path.join(tempfile.mkdtemp(), "weights.pt")

    def train(steps):
        for step in range(steps):
            optimizer.zero_grad()
            model(samples).square().mean().backward()
            optimizer.step()
            if not fixed or step == steps - 1:
                torch.save(model.state_dict(), path)

    return train


prepare.steps = 25
