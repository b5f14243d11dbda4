"""The program behind examples/train.ridge: a small training loop with the usual faults.

Each step prepares its batch on the CPU, copies it from pageable memory, runs many small kernels, and
reads the loss back. `python3 train.py OUT.json.gz` records twelve steps with torch.profiler;
`ridge import OUT.json.gz -o train.ridge` made the file beside this one.
"""

import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function

BATCH, WIDTH, LAYERS, STEPS = 64, 256, 6, 12


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[Block() for _ in range(LAYERS)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, profile_memory=True
    ) as profiler:
        for _ in range(STEPS):
            with record_function("data"):
                batch = torch.randn(BATCH, WIDTH).sin()
                x = batch.cuda()
            with record_function("forward"):
                for number, block in enumerate(model):
                    with record_function(f"block {number}"):
                        x = block(x)
                loss = x.square().mean()
            with record_function("backward"):
                optimizer.zero_grad()
                loss.backward()
            with record_function("optimizer"):
                optimizer.step()
            with record_function("log"):
                loss.item()
            profiler.step()
    profiler.export_chrome_trace(sys.argv[1])


main()
