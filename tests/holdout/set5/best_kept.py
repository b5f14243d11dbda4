"""Keeps the best weights by a deep copy of the model's state in every step."""
# finding: memory-bound, launch-bound, host-bound, allocation
# remedy: deepcopy|copy_|_foreach_copy_|less often|every N
import copy

import torch
from torch import nn


def prepare(fixed):
    model = nn.Sequential(*[nn.Linear(512, 512) for _ in range(60)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    samples = torch.randn(256, 512, device="cuda")
    best = [None]

    def train(steps):
        for step in range(steps):
            optimizer.zero_grad()
            model(samples).square().mean().backward()
            optimizer.step()
            if not fixed or step % 50 == 0:
                best[0] = copy.deepcopy(model.state_dict())

    return train


prepare.steps = 50
