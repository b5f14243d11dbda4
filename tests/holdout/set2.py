"""Hold-out set 2: whole scripts with one known fault each, and healthy ones, in the folder set2.

A script's prepare(fixed) returns the loop of the program, which takes the number of its turns; CUDA C++
programs take the argument 1 for the fixed one and print the nanoseconds of a turn. The scripts were
written from the list of faults, before the rules were read; docs/holdout.md has the protocol."""

import os
from functools import partial

import scripts

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "set2")
STEPS = scripts.STEPS
script, cuda = partial(scripts.script, FOLDER), partial(scripts.cuda, FOLDER)

LAUNCHES = ["launch-bound", "tiny-kernels", "host-bound"]

PROGRAMS = [
    (script("gpt2_eager"), ["memory-bound"], "scaled_dot_product_attention|sdpa"),
    (script("resnet_nchw"), ["memory-bound", "latency-bound", "compute-bound"], "channels_last"),
    (script("vit_float32"), ["compute-bound"], "tf32|float32_matmul_precision|bf16|bfloat16|autocast"),
    (script("cupy_heat"), ["memory-bound"], "cupy\\.fuse|RawKernel|ElementwiseKernel"),
    (script("bias_gelu_dropout"), ["memory-bound"], "compile|fuse|Triton"),
    (script("norm_by_hand"), ["memory-bound"], "rms_norm|compile|fuse"),
    (script("gathered_outputs"), ["memory-bound"], "preallocat|in a list|index_copy|cat once"),
    (script("dense_embedding"), ["memory-bound"], "sparse=True"),
    (script("votes"), ["latency-bound", "memory-bound"], "atomic|scatter|bincount|histogram"),
    (script("cupy_one_block"), ["small-grid"], "blocks|grid"),
    (script("cupy_one_stream"), ["small-grid", "one-queue"], "stream"),
    (script("sgd_by_hand"), LAUNCHES, "fused=True|foreach"),
    (script("average_of_weights"), LAUNCHES, "foreach"),
    (script("micro_batches"), LAUNCHES, "batch"),
    (script("one_request"), LAUNCHES, "graph|compile"),
    (script("lstm_by_hand"), LAUNCHES, "nn\\.LSTM|graph|compile"),
    (script("bert_one_by_one"), LAUNCHES, "batch"),
    (script("jax_time_steps"), LAUNCHES, "scan|fori_loop"),
    (script("checked_gradients"), ["sync-in-loop", "launch-bound"], "isfinite|finite|\\.item\\(\\)|\\.all\\(\\)"),
    (script("printed_loss"), ["sync-in-loop"], "print|\\.item\\(\\)|log"),
    (script("many_metrics"), ["sync-in-loop", "launch-bound"], "\\.item\\(\\)"),
    (script("detections"), ["sync-in-loop", "launch-bound"], "nonzero|mask|torch\\.where|topk"),
    (script("jax_loss_to_float"), ["sync-in-loop", "launch-bound"], "float\\(|\\.item|block_until_ready"),
    (script("cupy_converged"), ["sync-in-loop", "launch-bound", "host-bound"], "float\\(|\\.item|\\.get\\(\\)"),
    (script("jax_numpy_between"), ["host-bound", "exposed-transfers", "sync-in-loop"], "jnp|jax\\.|on the GPU|on the device"),
    (script("batches_in_float"), ["host-bound", "input-pipeline", "pageable"], "on the GPU|to the GPU|on the device|to the device|uint8"),
    (script("blurred_on_cpu"), ["host-bound", "input-pipeline", "on-cpu"], "on the GPU|to the GPU|on the device|to the device"),
    (script("augmented_loader"), ["input-pipeline"], "num_workers"),
    (script("short_epochs"), ["input-pipeline"], "persistent_workers"),
    (script("results_to_host"), ["pageable", "exposed-transfers"], "pin"),
    (script("triton_constants"), ["compilation"], "constexpr|specializ"),
    (script("cupy_source_per_size"), ["compilation"], "argument|once|source"),
    (script("cupy_without_pool"), ["allocation"], "pool|set_allocator"),
    (cuda("buffer_per_turn"), ["allocation"], "cudaMallocAsync|pool|once|before the loop|outside"),
    (cuda("wait_per_kernel"), ["sync-in-loop", "launch-bound"], "cudaDeviceSynchronize"),
    (script("healthy_triad"), ["healthy"], ""),
    (script("healthy_experts"), ["healthy"], ""),
    (script("healthy_flash_training"), ["healthy"], ""),
    (script("healthy_jax_scan"), ["healthy"], ""),
    (script("healthy_fed_network"), ["healthy"], ""),
]
