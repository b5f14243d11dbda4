"""Runs a compiled block of a transformer on a large batch."""
# finding: healthy
import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(functional.gelu(self.up(self.norm(x)), approximate="tanh"))


def prepare(fixed):
    with torch.device("cuda"):
        block = torch.compile(Block(4096).to(torch.bfloat16).eval())
    states = torch.randn(16384, 4096, device="cuda", dtype=torch.bfloat16)

    @torch.inference_mode()
    def run(batches):
        for _ in range(batches):
            result = block(states)
        return result

    return run


prepare.steps = 150
