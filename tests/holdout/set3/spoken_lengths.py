"""Stretches phonemes to their spoken lengths; the size of the result is asked from the device."""
# finding: sync-in-loop, launch-bound, host-bound
# remedy: output_size
import torch
from torch import nn


def prepare(fixed):
    embed = nn.Embedding(100, 256).cuda()
    decoder = nn.Sequential(*[nn.Linear(256, 256) for _ in range(4)]).cuda()
    phonemes = [torch.randint(0, 100, (96,), device="cuda") for _ in range(16)]
    lengths = [torch.randint(2, 9, (96,), device="cuda") for _ in range(16)]
    totals = [int(length.sum()) for length in lengths]

    @torch.inference_mode()
    def speak(rounds):
        for _ in range(rounds):
            for text, length, total in zip(phonemes, lengths, totals):
                size = total if fixed else None
                result = decoder(torch.repeat_interleave(embed(text), length, dim=0, output_size=size))
        return result

    return speak


prepare.steps = 60
