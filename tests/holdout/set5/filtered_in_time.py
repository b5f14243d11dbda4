"""A recursive filter over the samples of a signal, one operator call for each time step."""
# finding: launch-bound, tiny-kernels, host-bound
# remedy: compile|graph|scan|cumsum|fuse
import torch


def prepare(fixed):
    signal = torch.randn(1024, 256, device="cuda")
    powers = 0.9 ** (torch.arange(256, device="cuda")[:, None] - torch.arange(256, device="cuda")).clamp(min=0)
    kernel = torch.tril(0.1 * powers)

    @torch.inference_mode()
    def smooth(rounds):
        for _ in range(rounds):
            if fixed:
                result = signal @ kernel.t()
            else:
                state, parts = torch.zeros(1024, device="cuda"), []
                for t in range(256):
                    state = 0.9 * state + 0.1 * signal[:, t]
                    parts.append(state)
                result = torch.stack(parts, dim=1)
        return result

    return smooth


prepare.steps = 20
