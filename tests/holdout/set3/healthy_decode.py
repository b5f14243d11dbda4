"""Reads large weights for one request at a time; the whole step is one graph."""
# finding: healthy
import torch
from torch import nn


def prepare(fixed):
    kind = {"device": "cuda", "dtype": torch.bfloat16}
    model = nn.Sequential(*[nn.Linear(16384, 16384, bias=False, **kind) for _ in range(8)])
    request = torch.randn(1, 16384, **kind)
    graph = torch.cuda.CUDAGraph()
    with torch.inference_mode():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            model(request)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            answer = model(request)

    def serve(requests):
        for _ in range(requests):
            graph.replay()
        return answer

    return serve


prepare.steps = 200
