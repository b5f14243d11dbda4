"""Serves requests from a queue that it looks into every few milliseconds."""
# finding: host-bound
# remedy: sleep|poll|block
import queue
import threading
import time

import torch
from torch import nn


def prepare(fixed):
    model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(6)]).to("cuda", torch.bfloat16)
    requests, answers = queue.Queue(), queue.Queue()
    batch = torch.randn(256, 2048, device="cuda", dtype=torch.bfloat16)

    def client(count):
        for _ in range(count):
            requests.put(batch)
            answers.get()

    def next_request():
        if fixed:
            return requests.get()
        while True:
            try:
                return requests.get_nowait()
            except queue.Empty:
                time.sleep(0.005)

    @torch.inference_mode()
    def serve(count):
        threading.Thread(target=client, args=(count,), daemon=True).start()
        for _ in range(count):
            answer = model(next_request())
            torch.cuda.synchronize()
            answers.put(answer)
        return answer

    return serve


prepare.steps = 100
