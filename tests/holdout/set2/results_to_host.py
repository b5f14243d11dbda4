"""Segments images and brings every mask back to the host."""
import torch


def prepare(fixed):
    net = torch.nn.Conv2d(3, 16, 3, padding=1).cuda().half()
    images = torch.randn(16, 3, 512, 512, device="cuda", dtype=torch.float16)
    landing = [torch.empty(16, 16, 512, 512, dtype=torch.float16, pin_memory=True) for _ in range(2)]

    @torch.inference_mode()
    def segment(batches):
        mask = None
        for i in range(batches):
            mask = net(images)
            if fixed:
                landing[i % 2].copy_(mask, non_blocking=True)
            else:
                mask = mask.cpu()
        return mask

    return segment


prepare.steps = 25
