"""Normalizes sequences; the batch is turned to another layout and back in every layer."""
# finding: memory-bound
# remedy: contiguous|permut|transpos|layout
import torch
from torch import nn


def prepare(fixed):
    norms = nn.ModuleList([nn.LayerNorm(1024) for _ in range(6)]).to("cuda", torch.bfloat16)
    sequences = torch.randn(64, 1024, 1024, device="cuda", dtype=torch.bfloat16)

    @torch.inference_mode()
    def run(batches):
        for _ in range(batches):
            x = sequences
            for norm in norms:
                if fixed:
                    x = norm(x)
                else:
                    x = norm(x.permute(1, 0, 2).contiguous()).permute(1, 0, 2).contiguous()
        return x

    return run


prepare.steps = 60
