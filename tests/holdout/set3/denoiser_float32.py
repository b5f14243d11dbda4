"""Trains a convolutional denoiser with tf32 switched off for convolutions."""
# finding: compute-bound
# remedy: tf32|fp32_precision|autocast|bf16|bfloat16
import torch
from torch import nn


def prepare(fixed):
    layers = [nn.Conv2d(3, 128, 3, padding=1), nn.ReLU(inplace=True)]
    for _ in range(5):
        layers += [nn.Conv2d(128, 128, 3, padding=1), nn.ReLU(inplace=True)]
    model = nn.Sequential(*layers, nn.Conv2d(128, 3, 3, padding=1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    clean = torch.rand(16, 3, 160, 160, device="cuda")

    def train(steps):
        torch.backends.cudnn.allow_tf32 = fixed
        for _ in range(steps):
            noisy = clean + 0.1 * torch.randn_like(clean)
            optimizer.zero_grad()
            (model(noisy) - clean).square().mean().backward()
            optimizer.step()

    return train


prepare.steps = 20
