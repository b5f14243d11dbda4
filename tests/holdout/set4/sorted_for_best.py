"""Sorts all scores to get the best hundred of each row."""
# finding: memory-bound, compute-bound, latency-bound
# remedy: topk
import torch


def prepare(fixed):
    scores = torch.randn(512, 65536, device="cuda")

    def rank(rounds):
        for _ in range(rounds):
            if fixed:
                result = torch.topk(scores, 100, dim=1).indices
            else:
                result = torch.sort(scores, dim=1, descending=True).indices[:, :100]
        return result

    return rank
