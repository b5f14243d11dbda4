"""Every row of the catalogue (src/diagnose/catalogue.c) is recognized in a trace with its kernels, and a
trace with the kernels that rule it out is not given its words."""

import json
import os
import subprocess
import sys
import tempfile

RIDGE = os.environ.get("RIDGE", "build/ridge")
GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
TORCH = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)"
MUL = TORCH.replace("CUDAFunctor_add<float>", "MulFunctor<float>")

# kernels of a step (name, microseconds, times), host microseconds between launches, words of the fix
ROWS = [
    ([(GEMM, 90, 2), ("softmax_warp_forward<bf16>", 200, 1), (MUL, 60, 1)], 1, "scaled_dot_product_attention"),
    ([("sm90_xmma_fprop_implicit_gemm_f16f16", 100, 1), ("cudnn::nchwToNhwcKernel", 40, 2), ("cudnn::nhwcToNchwKernel", 40, 1), (TORCH, 9, 1)], 1, "channels_last"),
    ([(GEMM, 100, 1), ("at::native::batch_norm_transform_input_kernel<half>", 60, 1)], 1, "fuse_conv_bn_eval"),
    ([("at::native::indexFuncLargeIndex<float>", 600, 1), (TORCH, 5, 1)], 1, "segment_reduce"),
    ([("at::native::CatArrayBatchedCopy_vectorized<2>", 300, 2), (GEMM, 300, 1)], 1, "Preallocate"),
    ([("cupy_multiply__float32_float32_float32", 90, 3), ("cupy_add__float32_float32_float32", 90, 3)], 1, "cupy.fuse"),
    ([("at::native::addcdiv_cuda_kernel", 2, 20), ("at::native::addcmul_cuda_kernel", 2, 20), ("at::native::sqrt_kernel_cuda", 2, 20)], 8, "fused=True"),
    ([("at::native::reduce_kernel<NormTwoOps<float>>", 3, 20), ("at::native::reciprocal_kernel_cuda", 2, 20)], 8, "clip_grad_norm_"),
    ([("at::native::Nonzero::write_indices<long>", 5, 10), (TORCH, 5, 10)], 20, "torch.where"),
    ([("at::native::embedding_backward_feature_kernel", 300, 1), (GEMM, 300, 1)], 1, "sparse=True"),
    ([("at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>", 300, 1), (GEMM, 400, 1)], 1, "set_to_none"),
    ([("at::native::elementwise_kernel<direct_copy_kernel_cuda>", 300, 1), (GEMM, 400, 1)], 1, ".contiguous()"),
    ([("at::native::im2col_kernel<float>", 100, 1), (GEMM, 400, 1)], 1, "cudnn.enabled"),
    ([("at::native::fused_dropout_kernel_vec<float>", 100, 2), (GEMM, 400, 1)], 1, "dropout"),
    ([("at::native::foo", 1, 1), ("kDequantizeBlockwise<half>", 300, 1), (GEMM, 400, 1)], 1, "quantized weights directly"),
    ([("at::native::tensor_kernel_scan_innermost_dim<float>", 300, 1), (GEMM, 90, 1)], 1, "contiguous dimension"),
    ([("cupy_sum__float32_float32", 90, 2), ("cupy_add__float32_float32_float32", 90, 4)], 1, "CUPY_ACCELERATORS"),
    ([("cupy_multiply__float64_float64_float64", 90, 3), ("cupy_add__float64_float64_float64", 90, 3)], 1, "dtype=cupy.float32"),
    ([(TORCH, 5, 1), ("void bluestein_fft<float>", 300, 2), (GEMM, 90, 1)], 1, "next_fast_len"),
    ([("at::native::conv_depthwise2d_forward_kernel<float>", 300, 1), (GEMM, 300, 1)], 1, "depthwise"),
    ([("cutlass_80_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>", 300, 2), (TORCH, 5, 1)], 1, "multiple of 8"),
    ([("at::native::indexFuncLargeIndex<float>", 300, 1), ("at::native::vectorized_gather_kernel<16>", 150, 1)], 1, "sparse matrix"),
    ([("at::native::indexing_backward_kernel<float>", 300, 1), (GEMM, 300, 1)], 1, "index_add_"),
]
# calls of a step beside its launches (name, times); the kernels are short, so that the host limits the run
CALLS = [
    ("cudaEventQuery", 40, "asking again"),
    ("cudaMemGetInfo", 1, "device properties"),
    ("cudaStreamCreate", 2, "Create streams"),
    ("cudaGraphInstantiate", 1, "Instantiate the graph once"),
]
RULED_OUT = [
    ([(GEMM, 90, 2), ("softmax_warp_forward<bf16>", 200, 1), ("pytorch_flash::flash_fwd_kernel", 90, 1), (TORCH, 5, 1)], 1, "scaled_dot_product_attention"),
    ([("addcdiv", 2, 20), ("addcmul", 2, 20), ("sqrt_kernel_cuda", 2, 20), ("at::native::multi_tensor_apply_kernel", 9, 1)], 8, "fused=True"),
]


def trace_of(kernels, between, calls=(), block=256, grid=1000, blocking=False):
    events, host, device, correlation = [], 0.0, 0.0, 1
    for step in range(20):
        for name, times in calls:
            for _ in range(times):
                events.append({"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1, "ts": host, "dur": 3, "args": {}})
                host += 4
        for name, duration, times in kernels:
            for _ in range(times):
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": host,
                               "dur": duration + 12 if blocking else 4, "args": {"correlation": correlation}})
                start = max(device, host + 6)
                events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start, "dur": duration,
                               "args": {"correlation": correlation, "device": 0, "stream": 7, "grid": [grid, 1, 1], "block": [block, 1, 1]}})
                device, host, correlation = start + duration, host + (duration + 12 if blocking else 4) + between, correlation + 1
    events.append({"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 1, "tid": 1, "ts": 0, "dur": 1, "args": {}})
    properties = {"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0, "numSms": 132, "totalGlobalMem": 1 << 36}
    return {"schemaVersion": 1, "deviceProperties": [properties], "traceEvents": events}


def fixes_in(path):
    out = subprocess.run([RIDGE, "report", path, "--json"], stdout=subprocess.PIPE, check=True).stdout
    findings = json.loads(out)["verdict"]["findings"]
    return [fix["words"] for finding in findings for fix in finding["fixes"]]


def fixes_of(trace):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(trace, file)
        file.flush()
        return fixes_in(file.name)


def recorded():
    """Traces of catalogue.txt that are here, each with the fixes that it must have."""
    here, fixtures, entries = os.path.dirname(os.path.abspath(__file__)), (sys.argv + [""])[1], []
    with open(os.path.join(here, "catalogue.txt")) as file:
        for line in file.read().split("\n\n", 1)[1].splitlines():
            if line.startswith("    "):
                entries[-1][1].append(line.strip())
            elif line.startswith("fixtures/"):
                entries.append((os.path.join(fixtures, line[len("fixtures/"):]), []))
            else:
                entries.append((os.path.join(here, line if "/" in line else "traces/" + line), []))
    return [(path, fixes) for path, fixes in entries if os.path.exists(path)]


def check_recorded():
    passed = failed = 0
    for path, wanted in recorded():
        found = fixes_in(path)
        for words in wanted:
            if any(fix.startswith(words) for fix in found):
                passed += 1
            else:
                print(f"FAILED {os.path.basename(path)}: no fix that starts with {words!r}")
                failed += 1
    return passed, failed


def main():
    passed, failed = check_recorded()
    for rows, wanted in ((ROWS, True), (RULED_OUT, False)):
        for kernels, between, words in rows:
            if any(words in fix for fix in fixes_of(trace_of(kernels, between))) != wanted:
                print(f"FAILED {'no' if wanted else 'a'} fix with {words!r}")
                failed += 1
            else:
                passed += 1
    made_up = [(trace_of([(TORCH, 3, 1), (GEMM, 4, 1), (MUL, 3, 1)], 8, [(name, times)]), words) for name, times, words in CALLS]
    made_up.append((trace_of([("smooth", 1000, 2)], 1, block=1, grid=1 << 21), "larger block size"))
    made_up.append((trace_of([("smooth", 100, 4)], 60, blocking=True), "CUDA_LAUNCH_BLOCKING"))
    made_up.append((trace_of([("smooth", 1000, 2)], 1), "hardware counters"))
    for trace, words in made_up:
        if any(words in fix for fix in fixes_of(trace)):
            passed += 1
        else:
            print(f"FAILED no fix with {words!r}")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
