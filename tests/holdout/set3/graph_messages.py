"""Sums the messages along the edges of a graph whose few hubs have most of the edges."""
# finding: latency-bound, memory-bound
# remedy: sort|segment|CSR|sparse|atomic
import torch


def prepare(fixed):
    nodes, edges, hubs = 1 << 16, 1 << 22, 8
    source = torch.randint(0, nodes, (edges,), device="cuda")
    target = torch.randint(0, nodes, (edges,), device="cuda")
    target = torch.where(torch.rand(edges, device="cuda") < 0.9, target % hubs, target)
    order = torch.argsort(target, stable=True)
    starts = torch.zeros(nodes + 1, dtype=torch.int64, device="cuda")
    starts[1:] = torch.bincount(target, minlength=nodes).cumsum(0)
    adjacency = torch.sparse_csr_tensor(starts, source[order], torch.ones(edges, device="cuda"), (nodes, nodes))
    features = torch.randn(nodes, 64, device="cuda")

    def propagate(rounds):
        for _ in range(rounds):
            if fixed:
                result = adjacency @ features
            else:
                result = torch.zeros_like(features).index_add_(0, target, features[source])
        return result

    return propagate


prepare.steps = 30
