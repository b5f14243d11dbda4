"""A recurrent network, cell by cell and step by step."""
import torch
from torch import nn


def prepare(fixed):
    cell = nn.LSTMCell(256, 256).cuda()
    network = nn.LSTM(256, 256).cuda()
    text = torch.randn(100, 32, 256, device="cuda")

    @torch.no_grad()
    def read(texts):
        out = None
        for _ in range(texts):
            if fixed:
                out = network(text)[0]
                continue
            hidden, memory = torch.zeros(32, 256, device="cuda"), torch.zeros(32, 256, device="cuda")
            outputs = []
            for word in text:
                hidden, memory = cell(word, (hidden, memory))
                outputs.append(hidden)
            out = torch.stack(outputs)
        return out

    return read


prepare.steps = 25
