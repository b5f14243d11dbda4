"""Causal attention with a mask tensor for every query and key."""
# finding: memory-bound, compute-bound
# remedy: is_causal|flex_attention|mask
import torch
from torch.nn import functional


def prepare(fixed):
    query, key, value = torch.randn(3, 4, 16, 4096, 128, device="cuda", dtype=torch.bfloat16)
    mask = torch.full((4096, 4096), float("-inf"), device="cuda", dtype=torch.bfloat16).triu(1)

    @torch.inference_mode()
    def attend(rounds):
        for _ in range(rounds):
            if fixed:
                result = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            else:
                result = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return result

    return attend


prepare.steps = 40
