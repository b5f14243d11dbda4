"""Half-precision layers whose activations are converted to float32 and back around each of them."""
# finding: memory-bound
# remedy: convert|cast|dtype|types
import torch
from torch import nn


def prepare(fixed):
    layers = nn.ModuleList([nn.Linear(2048, 2048, bias=False) for _ in range(6)]).to("cuda", torch.bfloat16)
    states = torch.randn(32768, 2048, device="cuda", dtype=torch.bfloat16)

    @torch.inference_mode()
    def run(batches):
        for _ in range(batches):
            x = states
            for layer in layers:
                if fixed:
                    x = layer(x)
                else:
                    x = layer(x.float().to(torch.bfloat16)).float().to(torch.bfloat16)
        return x

    return run


prepare.steps = 40
