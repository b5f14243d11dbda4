"""A recommender: a large table of which each batch touches a few rows."""
import torch
from torch import nn


def prepare(fixed):
    table = nn.EmbeddingBag(1_000_000, 128, mode="sum", sparse=fixed).cuda()
    head = nn.Linear(128, 1).cuda()
    optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.05)
    items = torch.randint(0, 1_000_000, (2048, 20), device="cuda")

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            head(table(items)).square().mean().backward()
            optimizer.step()

    return train
