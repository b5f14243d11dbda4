"""Trains on randomly cropped images; the loader prepares them in the main process."""
import torch
from torch.utils.data import DataLoader, Dataset
from torchvision import models
from torchvision.transforms import v2


class Photos(Dataset):
    augment = v2.Compose([v2.RandomResizedCrop(176, antialias=True), v2.RandomHorizontalFlip(),
                          v2.ColorJitter(0.2, 0.2), v2.ToDtype(torch.float32, scale=True)])

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        photo = torch.full((3, 256, 256), index % 255, dtype=torch.uint8)
        return self.augment(photo), index % 100


def prepare(fixed):
    options = dict(num_workers=8, pin_memory=True, prefetch_factor=4) if fixed else {}
    loader = iter(DataLoader(Photos(), batch_size=32, **options))
    model = models.resnet18(weights=None, num_classes=100).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)

    def train(steps):
        for _ in range(steps):
            images, labels = next(loader)
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
            loss.backward()
            optimizer.step()

    return train


prepare.steps = 12
