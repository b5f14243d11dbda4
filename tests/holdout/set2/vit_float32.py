"""Classifies images with a vision transformer in single precision."""
import contextlib

import torch
import torchvision


def prepare(fixed):
    model = torchvision.models.vit_b_16(weights=None).cuda().eval()
    images = torch.randn(64, 3, 224, 224, device="cuda")
    precision = torch.autocast("cuda", dtype=torch.bfloat16) if fixed else contextlib.nullcontext()

    def classify(batches):
        counts = torch.zeros(1000, device="cuda")
        with torch.no_grad(), precision:
            for _ in range(batches):
                counts += model(images).softmax(dim=1).sum(dim=0)
        return counts

    return classify


prepare.steps = 30
