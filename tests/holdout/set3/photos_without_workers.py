"""Trains on photos that the main process crops, flips and converts itself."""
# finding: input-pipeline, host-bound
# remedy: num_workers
import torch
import torchvision
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2


class Photos(Dataset):
    images = torch.randint(0, 256, (64, 3, 288, 288), dtype=torch.uint8)
    change = v2.Compose([v2.RandomResizedCrop(176, antialias=True), v2.RandomHorizontalFlip(),
                         v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.25] * 3)])

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return self.change(self.images[index % 64]), index % 1000


def prepare(fixed):
    loader = iter(DataLoader(Photos(), batch_size=64, num_workers=10 if fixed else 0, pin_memory=fixed))
    model = torchvision.models.resnet18(weights=None).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
    criterion = torch.nn.CrossEntropyLoss()

    def train(steps):
        for _ in range(steps):
            images, labels = next(loader)
            images = images.cuda(non_blocking=True).to(memory_format=torch.channels_last)
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = criterion(model(images), labels.cuda(non_blocking=True))
            loss.backward()
            optimizer.step()

    return train


prepare.steps = 20
