"""Sends camera frames from ordinary memory to the device and filters them."""
# finding: pageable, exposed-transfers
# remedy: pin
import cupy as cp
import cupyx
import numpy


def prepare(fixed):
    shape = (16, 1080, 1920)
    frames = [cupyx.empty_pinned(shape, numpy.float32) if fixed else numpy.empty(shape, numpy.float32)
              for _ in range(2)]
    for frame in frames:
        frame[:] = 0.5
    target = cp.empty(shape, cp.float32)

    def watch(batches):
        for i in range(batches):
            target.set(frames[i % 2])
            edges = cp.abs(target[:, 1:] - target[:, :-1]).sum(axis=(1, 2))
        return edges

    return watch


prepare.steps = 40
