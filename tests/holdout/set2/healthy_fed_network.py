"""A large network that worker processes feed through pinned memory."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Vectors(Dataset):
    table = torch.randn(1024, 4096, dtype=torch.bfloat16)

    def __len__(self):
        return 1 << 24

    def __getitem__(self, index):
        return self.table[index % 1024]


def prepare(fixed):
    loader = iter(DataLoader(Vectors(), batch_size=1024, num_workers=4, pin_memory=True))
    model = nn.Sequential(*[nn.Linear(4096, 16384, bias=False), nn.Linear(16384, 16384, bias=False), nn.Linear(16384, 16384, bias=False),
                            nn.Linear(16384, 4096, bias=False)]).to("cuda", torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)

    def train(steps):
        for _ in range(steps):
            batch = next(loader).cuda(non_blocking=True)
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()

    return train


prepare.steps = 40
