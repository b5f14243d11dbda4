"""Decodes with grouped queries; keys and values are repeated for all heads first."""
# finding: memory-bound
# remedy: enable_gqa|repeat|expand
import torch
from torch.nn import functional


def prepare(fixed):
    cache = torch.randn(8, 2, 32, 8, 4096, 128, device="cuda", dtype=torch.bfloat16)
    query = torch.randn(32, 32, 1, 128, device="cuda", dtype=torch.bfloat16)

    @torch.inference_mode()
    def decode(tokens):
        for _ in range(tokens):
            x = query
            for keys, values in cache:
                if fixed:
                    x = x + functional.scaled_dot_product_attention(x, keys, values, enable_gqa=True)
                else:
                    keys, values = keys.repeat_interleave(4, dim=1), values.repeat_interleave(4, dim=1)
                    x = x + functional.scaled_dot_product_attention(x, keys, values)
        return x

    return decode


prepare.steps = 30
