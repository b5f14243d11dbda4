"""Spectra of signals whose length is a prime number."""
# finding: memory-bound, compute-bound, latency-bound
# remedy: pad|factor|power|next_fast_len
import torch


def prepare(fixed):
    signals = torch.randn(512, 100_003, device="cuda")

    @torch.inference_mode()
    def analyze(rounds):
        for _ in range(rounds):
            result = torch.fft.rfft(signals, n=100_352 if fixed else None)
        return result

    return analyze


prepare.steps = 40
