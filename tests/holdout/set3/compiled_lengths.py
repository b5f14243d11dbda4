"""Scores texts of all lengths with a function that is compiled for each length."""
# finding: compilation
# remedy: dynamic=True|mark_dynamic|pad|bucket
import itertools

import torch
import torch._dynamo
from torch.nn import functional

torch._dynamo.config.recompile_limit = 200


def prepare(fixed):
    table = torch.randn(1000, 256, device="cuda")

    @torch.compile(dynamic=False)
    def score(tokens):
        x = table[tokens]
        return torch.softmax(x * torch.sigmoid(x), dim=-1).sum(-1).mean()

    lengths = itertools.count(301, 7)

    def run(texts):
        for _ in range(texts):
            tokens = torch.randint(0, 1000, (16, next(lengths)), device="cuda")
            if fixed:
                tokens = functional.pad(tokens, (0, 1024 - tokens.shape[1]))
            result = score(tokens)
        return result

    return run


prepare.steps = 5
