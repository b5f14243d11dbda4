"""A network on large batches that worker processes prepare in time."""
# finding: healthy
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    table = torch.randn(4096, 2048)

    def __len__(self):
        return 1 << 24

    def __getitem__(self, index):
        return self.table[index % 4096] * 0.5


def prepare(fixed):
    loader = iter(DataLoader(Rows(), batch_size=512, num_workers=8, pin_memory=True, prefetch_factor=4))
    kind = {"device": "cuda", "dtype": torch.bfloat16}
    widths = [2048, 16384, 16384, 16384, 2048]
    model = nn.Sequential(*[nn.Linear(a, b, bias=False, **kind) for a, b in zip(widths, widths[1:])])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, fused=True)

    def train(steps):
        for _ in range(steps):
            batch = next(loader).cuda(non_blocking=True).to(torch.bfloat16).repeat(16, 1)
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()

    return train


prepare.steps = 40
