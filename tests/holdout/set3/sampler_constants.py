"""A diffusion sampler that sends its constants to the device at every step."""
# finding: small-transfers, sync-in-loop, launch-bound, host-bound
# remedy: before the loop|once|device=|Python (number|scalar|float)|torch\.full|pin
import torch
from torch import nn


def prepare(fixed):
    network = nn.Sequential(nn.Conv2d(4, 64, 3, padding=1), nn.SiLU(), nn.Conv2d(64, 4, 3, padding=1)).cuda()
    start = torch.randn(4, 4, 64, 64, device="cuda")
    steps = [(1 - k / 50, 0.9 + k / 600, 0.1 - k / 600, 0.01 * k) for k in range(50)]

    @torch.inference_mode()
    def sample(images):
        for _ in range(images):
            x = start
            for numbers in steps:
                if fixed:
                    sigma, scale, weight, shift = numbers
                else:
                    sigma, scale, weight, shift = (torch.tensor(number).cuda() for number in numbers)
                x = x * scale - network(x * sigma) * weight + shift
        return x

    return sample


prepare.steps = 12
