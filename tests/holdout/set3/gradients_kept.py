"""A wide network whose gradients are set to zero in place and added to again."""
# finding: memory-bound
# remedy: set_to_none|zero_grad
import torch
from torch import nn


def prepare(fixed):
    kind = {"device": "cuda", "dtype": torch.bfloat16}
    model = nn.Sequential(*[nn.Linear(12288, 12288, bias=False, **kind) for _ in range(4)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)
    samples = torch.randn(64, 12288, **kind)

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=fixed)
            model(samples).float().square().mean().backward()
            optimizer.step()

    return train


prepare.steps = 60
