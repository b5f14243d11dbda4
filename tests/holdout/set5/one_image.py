"""Classifies images one by one with a convolutional network."""
# finding: launch-bound, host-bound, tiny-kernels
# remedy: batch
import torch
from torchvision.models import mobilenet_v3_small


def prepare(fixed):
    model = mobilenet_v3_small().cuda().eval()
    images = torch.randn(32, 3, 224, 224, device="cuda")

    @torch.inference_mode()
    def classify(rounds):
        for _ in range(rounds):
            if fixed:
                result = model(images).argmax(dim=1)
            else:
                result = [model(image[None]).argmax(dim=1) for image in images]
        return result

    return classify


prepare.steps = 10
