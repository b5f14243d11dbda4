"""A recommender whose embedding tables are in host memory and looked up there."""
# finding: host-bound, pageable
# remedy: on the (GPU|device)|to the (GPU|device)|device=
import torch
from torch import nn


def prepare(fixed):
    place = "cuda" if fixed else "cpu"
    tables = nn.ModuleList([nn.EmbeddingBag(200_000, 64, mode="sum") for _ in range(8)]).to(place)
    top = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1)).cuda()
    ids = torch.randint(0, 200_000, (8, 4096, 20), device=place)

    @torch.inference_mode()
    def score(rounds):
        for _ in range(rounds):
            parts = [table(columns) for table, columns in zip(tables, ids)]
            result = top(torch.cat(parts, dim=1).cuda())
        return result

    return score


prepare.steps = 30
