"""Collects garbage after every step of a training loop."""
# finding: host-bound
# remedy: gc\.|garbage
import gc

import torch
import torchvision


def prepare(fixed):
    model = torchvision.models.resnet18(weights=None).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    images = torch.randn(64, 3, 128, 128, device="cuda").to(memory_format=torch.channels_last)

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(images).square().mean()
            loss.backward()
            optimizer.step()
            if not fixed:
                gc.collect()

    return train


prepare.steps = 30
