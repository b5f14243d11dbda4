"""Trains a large output layer with a cross entropy written out with one-hot rows."""
# finding: memory-bound
# remedy: cross_entropy|compile|fuse
import torch
from torch import nn
from torch.nn import functional


def prepare(fixed):
    head = nn.Linear(768, 32768, bias=False).to("cuda", torch.bfloat16)
    states = torch.randn(8192, 768, device="cuda", dtype=torch.bfloat16)
    labels = torch.randint(0, 32768, (8192,), device="cuda")

    def train(steps):
        for _ in range(steps):
            logits = head(states)
            if fixed:
                loss = functional.cross_entropy(logits, labels)
            else:
                exponents = (logits - logits.max(dim=-1, keepdim=True).values).exp()
                shares = exponents / exponents.sum(dim=-1, keepdim=True)
                wanted = functional.one_hot(labels, 32768).to(shares.dtype)
                loss = -(wanted * (shares + 1e-6).log()).sum(dim=-1).mean()
            head.weight.grad = None
            loss.backward()

    return train


prepare.steps = 25
