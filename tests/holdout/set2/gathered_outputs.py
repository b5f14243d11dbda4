"""Collects the features of a data set by appending to one tensor."""
import torch


def prepare(fixed):
    project = torch.nn.Linear(512, 1024).cuda()
    batch = torch.randn(4096, 512, device="cuda")

    @torch.no_grad()
    def embed(batches):
        features = torch.empty(0, 1024, device="cuda")
        parts = []
        for _ in range(batches):
            out = project(batch)
            if fixed:
                parts.append(out)
            else:
                features = torch.cat([features, out])
        return torch.cat(parts) if fixed else features

    return embed


prepare.steps = 120
