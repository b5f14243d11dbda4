"""Chooses columns with a Python list in every step."""
# finding: small-transfers, sync-in-loop, launch-bound, host-bound
# remedy: before the loop|once|device|index_select
import torch


def prepare(fixed):
    table = torch.randn(2048, 512, device="cuda")
    chosen = [[(7 * i + j) % 512 for i in range(100)] for j in range(8)]
    places = [torch.tensor(columns, device="cuda") for columns in chosen]

    @torch.inference_mode()
    def choose(rounds):
        for _ in range(rounds):
            result = 0
            for columns in places if fixed else chosen:
                result = result + table[:, columns].sum(dim=1)
        return result

    return choose


prepare.steps = 100
