"""Scores long texts with GPT-2; the attention is written out."""
import torch
from transformers import AutoModelForCausalLM, GPT2Config


def prepare(fixed):
    config = GPT2Config(n_layer=6, n_positions=2048, vocab_size=8192)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa" if fixed else "eager")
    model = model.to("cuda", torch.bfloat16).eval()
    texts = torch.randint(0, 8192, (8, 2048), device="cuda")

    def score(batches):
        total = torch.zeros((), device="cuda")
        for _ in range(batches):
            with torch.inference_mode():
                total += model(texts, use_cache=False).logits[:, -1].float().mean()
        return total

    return score


prepare.steps = 40
