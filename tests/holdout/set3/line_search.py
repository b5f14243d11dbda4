"""Looks for the best step length; every comparison of losses waits for the device."""
# finding: sync-in-loop, launch-bound
# remedy: \.item|bool|compar|torch\.where|argmin|on the (GPU|device)
import torch


def prepare(fixed):
    weights = [torch.randn(1024, 1024, device="cuda", dtype=torch.bfloat16) * 0.03 for _ in range(3)]
    ways = [torch.randn_like(w) * 0.03 for w in weights]
    samples = torch.randn(2048, 1024, device="cuda", dtype=torch.bfloat16)
    lengths = [0.5 ** k for k in range(10)]

    def loss_at(length):
        x = samples
        for weight, way in zip(weights, ways):
            x = torch.relu(x @ (weight + length * way))
        return x.float().square().mean()

    @torch.no_grad()
    def search(rounds):
        for _ in range(rounds):
            if fixed:
                best = torch.stack([loss_at(length) for length in lengths]).argmin()
                continue
            least = float("inf")
            for length in lengths:
                loss = loss_at(length)
                if loss < least:
                    least, best = loss, length
        return best

    return search


prepare.steps = 60
