#!/usr/bin/env python3
"""Checks the figures of `ridge bench all --json` for consistency.

    check.py RESULTS.json

Every line must have consistent figures, the bytes and operations of its work (computed here from the
sizes) and not exceed the roofs by more than the measurement error; every experiment must have findings.
Times themselves are not checked. Prints failures and finally `N passed, N failed`.
"""
import json
import sys

BYTES = {"f32": 4, "f16": 2, "bf16": 2}
EXPERIMENTS = (
    "fusion memory-vs-compute elementwise reduction matmul layers lora lora-rank gated-mlp attention "
    "rmsnorm-linear quantization fused-ops training batch-scaling workgroup-sweep tile-sweep pool transfers "
    "llm rwkv"
).split()
FINDINGS = {
    "fusion": ["speedup"],
    "memory-vs-compute": ["verdict"],
    "elementwise": ["best_add", "efficient_add"],
    "reduction": ["best_sum", "efficient_sum"],
    "matmul": ["best_matmul", "efficient_matmul"],
    "quantization": ["overhead_q8_0", "overhead_q4_k"],
    "fused-ops": ["gain"],
    "batch-scaling": ["best_batch", "efficient_batch"],
    "workgroup-sweep": ["best_block"],
    "tile-sweep": ["best_tile"],
    "pool": ["saved", "reuse_rate"],
    "transfers": ["gain_to_device", "gain_to_host"],
    "llm": ["prefill", "decode"],
    "rwkv": ["generation", "prompt"],
}
ROOF_ERROR = 2.0  # quick roofs, on machines that do other things meanwhile


def quantized_bytes(dtype, count):
    return {"q8_0": count // 32 * 34, "q4_k": count // 256 * 144}.get(dtype) or count * BYTES[dtype]


def expected(result):
    """(bytes, flops) of a call by its sizes; None where only the program itself can tell."""
    n, batch, dtype = result["size"], result["batch"], result["dtype"]
    width = BYTES.get(dtype, 2)
    label, numbers = result["label"], result["numbers"]
    name = result["experiment"]
    if name == "fusion":
        return 2 * n * width, 20 * n
    if name == "elementwise":
        inputs, flops = {"add": (2, 1), "exp": (1, 1), "gelu": (1, 5)}[label.split()[0]]
        return (inputs + 1) * n * width, flops * n
    if name == "reduction":
        return None, n
    if name == "matmul":
        return 3 * n * n * width, 2 * n**3
    if name == "layers":
        weights = {"softmax": 0, "layer_norm": 2, "rms_norm": 1}[label.split()[0]]
        return (2 * batch * n + weights * n) * width, None
    if name in ("lora", "lora-rank"):
        rank = numbers[0]
        product = 2 * batch * n * n
        if result["variant"] == "without":
            return (2 * batch * n + n * n) * width, product
        return (2 * batch * n + n * n + 2 * n * rank) * width, product + 4 * batch * n * rank + 2 * batch * n
    if name == "gated-mlp":
        hidden = numbers[0]
        return (2 * batch * n + 3 * n * hidden) * width, batch * hidden * (6 * n + 5)
    if name == "attention":
        heads, head = numbers[:2]
        return 4 * batch * heads * n * head * width, None
    if name == "rmsnorm-linear":
        return (2 * batch * n + n * n + n) * width, None
    if name == "quantization":
        return quantized_bytes(dtype, n * n) + 2 * batch * n * width, 2 * batch * n * n
    return None, None


def faults(result):
    time, amount, limit = result["time"], result["amount"], result["limit"]
    if result["wrong"]:
        yield "a wrong result: " + result["problem"]
        return
    if result["problem"]:
        return
    if not 0 < time["fastest_ns"] <= time["median_ns"]:
        yield "the fastest call is not faster than the median"
    if not time["low_ns"] <= time["median_ns"] <= time["high_ns"]:
        yield "the median is outside of its interval"
    if len(time["samples_ns"]) < 2 or min(time["samples_ns"]) <= 0:
        yield "too few samples, or impossible ones"
    # a launch takes microseconds, which another process on the machine can double while it is measured
    if limit["kind"] != "launch" and limit["ns"] > ROOF_ERROR * time["median_ns"]:
        yield f"faster than its roof ({limit['kind']}): {time['median_ns']:.0f} ns, roof {limit['ns']:.0f} ns"
    longest = max(limit[part + "_ns"] for part in ("memory", "arithmetic", "launch", "transfer"))
    if abs(longest - limit["ns"]) > 1e-6 * longest + 1e-6:
        yield "the limit is not the largest of its parts"
    bytes_, flops = expected(result)
    if bytes_ is not None and amount["bytes"] != bytes_:
        yield f"{amount['bytes']} bytes, not {bytes_}"
    parts = 0.001 if result["experiment"] == "reduction" else 0  # few rows are reduced in two launches
    if flops is not None and not flops <= amount["flops"] <= flops * (1 + parts):
        yield f"{amount['flops']} flops, not {flops}"
    if result["experiment"] == "fusion":
        kernels = 1 if result["variant"] == "compiled" else 20
        if result["kernels"] != kernels:
            yield f"{result['kernels']} kernels, not {kernels}"
    if amount["flops"] and not result["device_ns"] > 0:
        yield "the device's own time is missing"
    if amount["flops"] and not result["checked"]:
        yield "the output was not checked"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        data = json.load(file)
    passed = failed = 0

    def judge(what, wrong):
        nonlocal passed, failed
        wrong = list(wrong)
        passed, failed = (passed, failed + 1) if wrong else (passed + 1, failed)
        for fault in wrong:
            print(f"FAILED {what}: {fault}")

    for result in data["results"]:
        what = " ".join(filter(None, (result["experiment"], result["device"], result["label"], result["variant"])))
        judge(what, faults(result))
    for name in EXPERIMENTS:
        measured = [r for r in data["results"] if r["experiment"] == name and not r["problem"]]
        judge(name, [] if measured else ["no line of it was measured"])
        said = [f["key"] for f in data["findings"] if f["experiment"] == name]
        judge(name, [f"says nothing about {key}" for key in FINDINGS.get(name, []) if key not in said])
    for finding in data["findings"]:
        judge(finding["key"], [] if finding["text"].strip() else ["has no words"])
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
