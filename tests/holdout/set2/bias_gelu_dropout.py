"""The pointwise end of a transformer's feed-forward block, one operator after another."""
import torch
import triton
import triton.language as tl


@triton.jit
def finish(x, bias, residual, out, width, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at).to(tl.float32) + tl.load(bias + at % width).to(tl.float32)
    value = value * tl.sigmoid(1.702 * value) * 0.9
    tl.store(out + at, (value + tl.load(residual + at).to(tl.float32)).to(tl.bfloat16))


def prepare(fixed):
    x = torch.randn(16384, 4096, device="cuda", dtype=torch.bfloat16)
    residual, bias = torch.randn_like(x), torch.randn(4096, device="cuda", dtype=torch.bfloat16)

    def forward(layers):
        out = None
        for _ in range(layers):
            if fixed:
                out = torch.empty_like(x)
                finish[(x.numel() // 2048,)](x, bias, residual, out, 4096, BLOCK=2048)
            else:
                h = x + bias
                h = h * torch.sigmoid(1.702 * h)
                out = h * 0.9 + residual
        return out

    return forward
