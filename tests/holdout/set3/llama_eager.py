"""Fine-tunes a small Llama on long texts; the attention is written out."""
# finding: memory-bound
# remedy: scaled_dot_product_attention|sdpa
import torch
from transformers import AutoModelForCausalLM, LlamaConfig


def prepare(fixed):
    config = LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=3, num_attention_heads=16,
                         num_key_value_heads=16, vocab_size=4096, max_position_embeddings=4096)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa" if fixed else "eager")
    model = model.to("cuda", torch.bfloat16).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    texts = torch.randint(0, 4096, (4, 3072), device="cuda")

    def tune(batches):
        for _ in range(batches):
            optimizer.zero_grad()
            model(texts, labels=texts, use_cache=False).loss.backward()
            optimizer.step()

    return tune


prepare.steps = 20
