"""Classifies comments; the words are split and looked up in Python between the steps."""
# finding: host-bound, input-pipeline
# remedy: worker|in advance|before the loop|DataLoader|thread|prefetch|precompute
import re

import torch
from torch import nn

WORDS = {f"word{i}": i for i in range(5000)}
COMMENT = " ".join(f"Word{i * 37 % 6000}," for i in range(400))


def tokens_of(text):
    return [WORDS.get(word, 0) for word in re.findall(r"[a-z0-9]+", text.lower())][:384]


def prepare(fixed):
    model = nn.Sequential(nn.EmbeddingBag(5000, 512), nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 2)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    comments = [COMMENT[i:] for i in range(128)]
    labels = torch.zeros(128, dtype=torch.int64, device="cuda")
    ready = torch.tensor([(tokens_of(text) + [0] * 384)[:384] for text in comments]).pin_memory()

    def train(steps):
        for _ in range(steps):
            if fixed:
                tokens = ready.cuda(non_blocking=True)
            else:
                tokens = torch.tensor([(tokens_of(text) + [0] * 384)[:384] for text in comments]).cuda()
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(tokens), labels).backward()
            optimizer.step()

    return train


prepare.steps = 40
