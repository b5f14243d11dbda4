"""Trains a denoising network with noise that the processor draws."""
# finding: host-bound, pageable
# remedy: on the (GPU|device)|device=|to the (GPU|device)
import torch
from torch import nn


def prepare(fixed):
    model = nn.Sequential(nn.Conv2d(3, 96, 3, padding=1), nn.SiLU(), nn.Conv2d(96, 3, 3, padding=1))
    model = model.to("cuda", memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    images = torch.rand(64, 3, 128, 128, device="cuda").to(memory_format=torch.channels_last)

    def train(steps):
        for _ in range(steps):
            noise = torch.randn_like(images) if fixed else torch.randn(images.shape).cuda()
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = (model(images + noise) - noise).square().mean()
            loss.backward()
            optimizer.step()

    return train


prepare.steps = 30
