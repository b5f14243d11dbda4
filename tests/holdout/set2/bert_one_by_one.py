"""Embeds sentences with BERT, one call for each sentence."""
import torch
from transformers import BertConfig, BertModel


def prepare(fixed):
    model = BertModel(BertConfig(num_hidden_layers=4, hidden_size=384, num_attention_heads=6,
                                 intermediate_size=1536)).cuda().eval()
    sentences = torch.randint(0, 30000, (32, 48), device="cuda")

    @torch.inference_mode()
    def embed(rounds):
        out = None
        for _ in range(rounds):
            if fixed:
                out = model(input_ids=sentences).pooler_output
            else:
                out = torch.cat([model(input_ids=s.unsqueeze(0)).pooler_output for s in sentences])
        return out

    return embed


prepare.steps = 20
