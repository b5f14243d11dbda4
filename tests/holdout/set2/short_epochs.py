"""Starts the workers of its loader again for every short epoch."""
import torch
from torch.utils.data import DataLoader, TensorDataset


def prepare(fixed):
    data = TensorDataset(torch.randn(2048, 256), torch.randn(2048, 8))
    loader = DataLoader(data, batch_size=256, shuffle=True, num_workers=4, pin_memory=True,
                        persistent_workers=fixed)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)

    def train(epochs):
        for _ in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                (model(x.cuda(non_blocking=True)) - y.cuda(non_blocking=True)).square().mean().backward()
                optimizer.step()

    return train


prepare.steps = 6
