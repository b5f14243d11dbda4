"""A recurrent network of cuDNN over whole sequences, in half precision."""
# finding: healthy
import torch
from torch import nn


def prepare(fixed):
    network = nn.LSTM(2048, 2048, num_layers=2).to("cuda", torch.float16)
    sequence = torch.randn(64, 512, 2048, device="cuda", dtype=torch.float16)

    @torch.inference_mode()
    def read(rounds):
        for _ in range(rounds):
            result, _ = network(sequence)
        return result

    return read


prepare.steps = 30
