"""Upscales pictures of all sizes; cuDNN times its algorithms for each new size."""
# finding: compilation, irregular-steps, host-bound
# remedy: benchmark|pad|bucket
import itertools

import torch
from torch import nn


def prepare(fixed):
    model = nn.Sequential(nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
                          nn.Conv2d(64, 12, 3, padding=1), nn.PixelShuffle(2)).to("cuda", torch.float16)
    sizes = itertools.count(200, 2)

    @torch.inference_mode()
    def upscale(pictures):
        torch.backends.cudnn.benchmark = not fixed
        for _ in range(pictures):
            size = next(sizes)
            result = model(torch.randn(4, 3, size, size, device="cuda", dtype=torch.float16))
        return result

    return upscale


prepare.steps = 20
