"""Turns every new token to a Python list to look for the end of the text."""
# finding: sync-in-loop, launch-bound, host-bound
# remedy: tolist|item|every N|on the (GPU|device)
import torch
from torch import nn


def prepare(fixed):
    embed = nn.Embedding(16384, 768).to("cuda", torch.bfloat16)
    body = nn.Sequential(*[nn.Sequential(nn.Linear(768, 3072), nn.GELU(), nn.Linear(3072, 768)) for _ in range(6)])
    body = body.to("cuda", torch.bfloat16)

    @torch.inference_mode()
    def write(tokens):
        words = torch.ones(64, dtype=torch.int64, device="cuda")
        ended = torch.zeros(64, dtype=torch.bool, device="cuda")
        texts = []
        for _ in range(tokens):
            words = (body(embed(words)) @ embed.weight.t()).argmax(dim=-1)
            if fixed:
                ended |= words == 16400
                texts.append(words)
            else:
                texts.append(words.tolist())
                if all(word == 16400 for word in texts[-1]):
                    break
        return words

    return write


prepare.steps = 200
