"""Logs the norm of every gradient of an encoder, number by number."""
# finding: sync-in-loop, launch-bound, host-bound
# remedy: foreach|clip_grad_norm_|get_total_norm|\.item
import torch
from torch import nn


def prepare(fixed):
    layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 8, enable_nested_tensor=False).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    samples = torch.randn(16, 256, 512, device="cuda", dtype=torch.bfloat16)

    def train(steps):
        log = []
        for _ in range(steps):
            optimizer.zero_grad()
            model(samples).float().square().mean().backward()
            if fixed:
                log.append(torch._foreach_norm([p.grad for p in model.parameters()]))
            else:
                log.append([p.grad.norm().item() for p in model.parameters()])
            optimizer.step()

    return train


prepare.steps = 30
