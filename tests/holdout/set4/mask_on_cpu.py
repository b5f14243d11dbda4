"""Builds the mask of a decoder on the processor at every step."""
# finding: host-bound, pageable, exposed-transfers
# remedy: on the (GPU|device)|to the (GPU|device)|device=|pin|once|before the loop
import torch
from torch.nn import functional


def prepare(fixed):
    length = 2048
    q = torch.randn(4, 16, length, 64, device="cuda", dtype=torch.bfloat16)
    kept = torch.tril(torch.ones(length, length, dtype=torch.bool)).cuda()

    @torch.inference_mode()
    def decode(steps):
        for _ in range(steps):
            mask = kept
            if not fixed:
                mask = torch.full((length, length), float("-inf"))
                mask = torch.triu(mask, diagonal=1).cuda().to(torch.bfloat16)
            result = functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)
        return result

    return decode


prepare.steps = 40
