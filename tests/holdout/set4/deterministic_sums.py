"""Adds rows by index with deterministic algorithms switched on."""
# finding: memory-bound, latency-bound
# remedy: deterministic
import torch


def prepare(fixed):
    index = torch.randint(0, 100_000, (1 << 20,), device="cuda")
    rows = torch.randn(1 << 20, 64, device="cuda")

    def add(rounds):
        torch.use_deterministic_algorithms(not fixed)
        for _ in range(rounds):
            result = torch.zeros(100_000, 64, device="cuda").index_put_((index,), rows, accumulate=True)
        torch.use_deterministic_algorithms(False)
        return result

    return add


prepare.steps = 30
