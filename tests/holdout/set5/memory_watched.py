"""Asks the system for its load in every step of a training loop."""
# finding: host-bound, launch-bound
# remedy: every N|thread|less often|N steps
import subprocess

import torch
from torch import nn


def prepare(fixed):
    model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(8)]).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    samples = torch.randn(4096, 2048, device="cuda", dtype=torch.bfloat16)
    seen = []

    def train(steps):
        for step in range(steps):
            optimizer.zero_grad()
            model(samples).float().square().mean().backward()
            optimizer.step()
            if not fixed or step % 100 == 0:
                seen.append(subprocess.run(["cat", "/proc/loadavg"], stdout=subprocess.PIPE).stdout)

    return train


prepare.steps = 60
