"""Trains a ResNet-50 with automatic mixed precision in the default layout."""
import torch
import torchvision


def prepare(fixed):
    layout = torch.channels_last if fixed else torch.contiguous_format
    model = torchvision.models.resnet50(weights=None).cuda().to(memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
    criterion = torch.nn.CrossEntropyLoss()
    images = torch.randn(96, 3, 224, 224, device="cuda").to(memory_format=layout)
    labels = torch.randint(0, 1000, (96,), device="cuda")

    def train(iterations):
        for _ in range(iterations):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()

    return train


prepare.steps = 20
