"""Every batch is parsed from lines of JSON by the training loop itself."""
# finding: host-bound, input-pipeline
# remedy: once|worker|other process|another (thread|process)|before the loop|ahead
import json

import torch
from torch import nn


def prepare(fixed):
    model = nn.Sequential(nn.Linear(128, 2048), nn.ReLU(), nn.Linear(2048, 1)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    lines = [json.dumps({"x": [round(0.01 * (i * j % 97), 3) for j in range(128)], "y": i % 7}) for i in range(256)]
    kept = None

    def batch():
        rows = [json.loads(line) for line in lines]
        return (torch.tensor([row["x"] for row in rows]).cuda(), torch.tensor([[float(row["y"])] for row in rows]).cuda())

    def train(steps):
        nonlocal kept
        for _ in range(steps):
            if not fixed or kept is None:
                kept = batch()
            x, y = kept
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()

    return train


prepare.steps = 40
