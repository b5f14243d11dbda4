"""The cases of the corpus: which program, with which faults, and how the diagnosis may call them.

`expected`: the findings that may come first; where two names describe the same thing honestly, both. For
a pair of faults it is found out by measuring: the costlier one. A healthy control expects "healthy";
`remarks` are findings that must be listed all the same."""


def fault(name, expected, base="layers", amount=1.0, steps=12, program="torch", manner="captured", **more):
    """faults: [(name, how much)] of torch_faults.py or runtime_faults.c; `name` begins with the kind."""
    return dict(name=name, expected=expected, base=base, amount=amount, steps=steps, program=program, manner=manner, **more)


LAUNCH = ["launch-bound", "tiny-kernels"]
GRID = ["small-grid", "latency-bound", "low-occupancy"]

TORCH = [
    fault("launch-chain-300", LAUNCH, "layers", 0.5, 10, faults=[("launch_chain", 300)]),
    fault("launch-chain-800", LAUNCH, "mlp", 1, 6, faults=[("launch_chain", 800)], ranges=True),
    fault("launch-cell-40", LAUNCH, "nothing", 1, 8, faults=[("launch_mixed", 40)]),
    fault("launch-cell-120", LAUNCH, "conv", 0.25, 6, faults=[("launch_mixed", 120)], ranges=True),
    fault("launch-blocks-6", LAUNCH, "nothing", 1, 8, faults=[("launch_blocks", 6)]),
    fault("launch-blocks-12", LAUNCH, "layers", 0.5, 6, faults=[("launch_blocks", 12)], ranges=True),
    fault("sync-item-layers", ["sync-in-loop"], "layers", 0.5, 16, faults=[("sync_item", 1)]),
    fault("sync-item-block", ["sync-in-loop"], "block", 0.25, 16, faults=[("sync_item", 2)], ranges=True),
    fault("sync-layers", ["sync-in-loop"], "layers", 2, 10, faults=[("sync_layers", 1)]),
    fault("sync-layers-conv", ["sync-in-loop"], "conv", 0.25, 16, faults=[("sync_layers", 1)], ranges=True),
    fault("sync-nonzero", ["sync-in-loop"], "layers", 1, 10, faults=[("sync_nonzero", 1)]),
    fault("sync-cpu", ["sync-in-loop"], "layers", 1, 10, faults=[("sync_cpu", 1)], ranges=True),
    fault("small-copies-100", ["small-transfers"], "layers", 0.25, 8, faults=[("small_copies", 100)]),
    fault("small-copies-400", ["small-transfers"], "mlp", 1, 6, faults=[("small_copies", 400)], ranges=True),
    fault("small-copies-600", ["small-transfers"], "block", 0.5, 5, faults=[("small_copies", 600)]),
    fault("small-copies-pageable", ["small-transfers", "pageable"], "conv", 0.5, 6, faults=[("small_copies_pageable", 200)]),
    fault("large-copy-16", ["exposed-transfers"], "layers", 2, 12, faults=[("large_copy", 16)]),
    fault("large-copy-64", ["exposed-transfers"], "mlp", 1, 12, faults=[("large_copy", 64)], ranges=True),
    fault("large-copy-256", ["exposed-transfers"], "gemm", 4, 10, faults=[("large_copy", 256)]),
    fault("large-copy-back", ["exposed-transfers"], "block", 2, 12, faults=[("large_copy_back", 64)]),
    fault("pageable-8", ["pageable"], "layers", 1, 12, faults=[("pageable", 8)]),
    fault("pageable-32", ["pageable"], "mlp", 1, 12, faults=[("pageable", 32)], ranges=True),
    fault("pageable-64", ["pageable"], "block", 2, 10, faults=[("pageable", 64)]),
    fault("pageable-pieces", ["pageable"], "conv", 1, 10, faults=[("pageable_pieces", 48)]),
    fault("pageable-back", ["pageable"], "mlp", 1, 12, faults=[("pageable_back", 32)]),
    fault("host-sleep", ["host-bound"], "mlp", 1, 12, faults=[("host_sleep", 1.5)]),
    fault("host-sleep-long", ["host-bound"], "block", 0.5, 12, faults=[("host_sleep", 4)], ranges=True),
    fault("host-busy", ["host-bound"], "layers", 1, 12, faults=[("host_busy", 1.3)], ranges=True),
    fault("host-busy-sampled", ["host-bound"], "conv", 1, 20, faults=[("host_busy", 3)], samples=199),
    fault("host-numpy", ["host-bound"], "embed", 1, 12, faults=[("host_numpy", 2)], ranges=True),
    fault("host-numpy-sampled", ["host-bound"], "layers", 1, 20, faults=[("host_numpy", 5)], samples=199),
    fault("input-loader", ["input-pipeline", "host-bound"], "mlp", 1, 12, faults=[("input_loader", 2)], ranges=True),
    fault("input-loader-sampled", ["input-pipeline", "host-bound"], "conv", 1, 20, faults=[("input_loader", 4)], samples=199),
    fault("allocation-cache", ["allocation"], "layers", 1, 10, faults=[("allocation_cache", 4)]),
    fault("allocation-cache-mlp", ["allocation"], "mlp", 1, 10, faults=[("allocation_cache", 8)], ranges=True),
    fault("allocation-driver", ["allocation"], "block", 0.5, 10, faults=[("allocation_driver", 4)]),
    fault("allocation-driver-many", ["allocation"], "conv", 0.5, 8, faults=[("allocation_driver", 16)], ranges=True),
    fault("compile-source", ["compilation"], "layers", 1, 8, faults=[("compile_source", 4)]),
    fault("compile-source-long", ["compilation"], "mlp", 1, 8, faults=[("compile_source", 20)], samples=199),
    fault("compile-ptx", ["compilation"], "block", 0.5, 10, faults=[("compile_ptx", 20)]),
    fault("compile-ptx-long", ["compilation"], "conv", 0.5, 8, faults=[("compile_ptx", 80)], ranges=True),
    fault("memory-chain-4", ["memory-bound"], "nothing", 1, 12, faults=[("memory_chain", 4)]),
    fault("memory-chain-12", ["memory-bound"], "layers", 0.5, 10, faults=[("memory_chain", 12)], ranges=True, operators=True),
    fault("memory-columns", ["memory-bound"], "layers", 0.5, 10, faults=[("memory_columns", 128)]),
    fault("memory-index", ["memory-bound"], "nothing", 1, 10, faults=[("memory_index", 256)], operators=True),
    fault("compute-f32", ["compute-bound"], "nothing", 1, 10, faults=[("compute_f32", 4096)]),
    fault("compute-f32-large", ["compute-bound"], "layers", 1, 8, faults=[("compute_f32", 6144)], ranges=True, operators=True),
    fault("compute-f64", ["compute-bound"], "nothing", 1, 8, faults=[("compute_f64", 4096)]),
    fault("grid-loop-1", GRID, "layers", 0.5, 10, faults=[("grid_loop", 1)]),
    fault("grid-loop-4", GRID, "layers", 0.5, 10, faults=[("grid_loop", 4)]),
    fault("grid-loop-16", GRID, "nothing", 1, 12, faults=[("grid_loop", 16)], ranges=True),
    fault("grid-rows-2", GRID, "layers", 0.5, 10, faults=[("grid_rows", 2)]),
    fault("grid-rows-8", GRID, "nothing", 1, 12, faults=[("grid_rows", 8)]),
]

WHOLE = [  # recorded from beginning to end, with all that a start costs
    fault("launch-whole", LAUNCH, "layers", 0.25, 12, manner="whole", faults=[("launch_blocks", 6)]),
    fault("sync-whole", ["sync-in-loop"], "layers", 1, 16, manner="whole", faults=[("sync_layers", 1)]),
    fault("small-copies-whole", ["small-transfers"], "layers", 0.5, 8, manner="whole", faults=[("small_copies", 200)]),
    fault("pageable-whole", ["pageable"], "block", 1, 16, manner="whole", faults=[("pageable", 48)]),
    fault("host-whole", ["host-bound"], "conv", 1, 16, manner="whole", faults=[("host_busy", 2)], ranges=True),
    fault("allocation-whole", ["allocation"], "mlp", 1, 16, manner="whole", faults=[("allocation_cache", 6)]),
    fault("memory-whole", ["memory-bound"], "nothing", 1, 16, manner="whole", faults=[("memory_chain", 8)]),
]

PROFILER = [  # recorded by torch.profiler: the verdict must not depend on the recorder
    fault("launch-profiler", LAUNCH, "nothing", 1, 6, manner="profiler", faults=[("launch_mixed", 20)]),
    fault("sync-profiler", ["sync-in-loop"], "layers", 1, 6, manner="profiler", faults=[("sync_layers", 1)]),
    fault("pageable-profiler", ["pageable"], "mlp", 1, 6, manner="profiler", faults=[("pageable", 32)]),
    fault("host-profiler", ["host-bound"], "conv", 1, 8, manner="profiler", faults=[("host_sleep", 2)]),
    fault("compute-profiler", ["compute-bound"], "nothing", 1, 8, manner="profiler", faults=[("compute_f32", 4096)]),
    fault("memory-profiler", ["memory-bound"], "nothing", 1, 6, manner="profiler", faults=[("memory_chain", 8)]),
]

PAIRS = [
    fault("pair-sync-pageable", [], "layers", 1, 10, faults=[("sync_layers", 1), ("pageable", 8)]),
    fault("pair-host-launch", [], "layers", 0.25, 6, faults=[("host_busy", 8), ("launch_mixed", 60)], ranges=True),
    fault("pair-allocation-small-copies", [], "layers", 0.5, 8, faults=[("allocation_cache", 4), ("small_copies", 200)]),
    fault("pair-host-pageable", [], "mlp", 1, 10, faults=[("host_sleep", 2), ("pageable", 16)]),
    fault("pair-memory-large-copy", [], "nothing", 1, 10, faults=[("memory_chain", 8), ("large_copy", 32)]),
    fault("pair-grid-sync", [], "layers", 1, 10, faults=[("grid_loop", 2), ("sync_layers", 1)]),
    fault("pair-compile-host", [], "conv", 0.5, 10, faults=[("compile_ptx", 40), ("host_busy", 2)], ranges=True),
    fault("pair-compute-pageable", [], "nothing", 1, 10, faults=[("compute_f32", 4096), ("pageable", 32)]),
]


def healthy(name, base, amount=1.0, steps=16, faults=(), program="torch", manner="captured", **more):
    return fault("healthy-" + name, ["healthy"], base, amount, steps, program, manner, faults=list(faults), mended=True, **more)


HEALTHY = [
    healthy("gemm", "gemm", 1, 30),
    healthy("gemm-ranges", "gemm", 1, 20, ranges=True),
    healthy("gemm-8192", "gemm", 4, 12),
    healthy("gemm-8192-ranges", "gemm", 4, 16, ranges=True),
    healthy("gemm-whole", "gemm", 4, 40, manner="whole"),
    healthy("layers", "layers", 1, 16),
    healthy("layers-long", "layers", 4, 8, ranges=True),
    healthy("block", "block", 2, 20),
    healthy("block-large", "block", 8, 12, ranges=True),
    healthy("block-whole", "block", 4, 30, manner="whole"),
    healthy("block-graph", "block", 1, 20, graphed=True),
    healthy("layers-graph", "layers", 1, 12, graphed=True, ranges=True),
    healthy("conv", "conv", 2, 16),
    healthy("conv-large", "conv", 8, 10, ranges=True),
    healthy("conv-graph", "conv", 1, 20, graphed=True),
    healthy("mlp", "mlp", 2, 10),
    healthy("mlp-large", "mlp", 4, 8, ranges=True),
    healthy("train-block", "train_block", 4, 6),
    healthy("train-block-ranges", "train_block", 2, 6, ranges=True),
    healthy("copies-ahead", "gemm", 4, 12, [("large_copy", 64)]),
    healthy("copies-ahead-layers", "layers", 4, 10, [("large_copy", 32)], ranges=True),
    healthy("copies-back-ahead", "block", 8, 12, [("large_copy_back", 48)]),
    healthy("fused-chain", "nothing", 1, 30, [("memory_chain", 8)]),
    healthy("pinned-large-step", "gemm", 4, 12, [("pageable", 2)]),
    healthy("log-seldom", "block", 4, 16, [("sync_seldom", 8)]),
    healthy("layers-whole", "layers", 2, 30, manner="whole", ranges=True),
    healthy("train-block-large", "train_block", 6, 6),
    # At its power limit under full load a device does as it should: the report says so and does not blame it.
    fault("healthy-power-limit", ["healthy"], "nothing", 1, 300, faults=[("throttle_power", 8192)], remarks=["throttling"]),
    healthy("gemm-profiler", "gemm", 4, 6, manner="profiler"),
    healthy("block-profiler", "block", 4, 6, manner="profiler"),
]


def runtime(name, expected, fault_, amount, steps=12, manner="own", **more):
    return fault(name, expected, fault_, amount, steps, "runtime", manner, faults=[(fault_, amount)], **more)


RUNTIME = [
    runtime("launch-runtime-64", LAUNCH, "launch", 64, 12),
    runtime("launch-runtime-256", LAUNCH, "launch", 256, 6),
    runtime("sync-runtime", ["sync-in-loop"], "sync", 1, 10),
    runtime("sync-runtime-read", ["sync-in-loop"], "read", 1, 16),
    runtime("small-copies-runtime", ["small-transfers", "pageable"], "small-copies", 200, 8),
    runtime("copy-runtime", ["exposed-transfers", "pageable"], "large-copy", 32, 12),
    runtime("host-runtime-sleep", ["host-bound"], "sleep", 3, 12),
    runtime("host-runtime-busy", ["host-bound"], "busy", 6, 12),
    runtime("allocation-runtime", ["allocation"], "allocation", 6, 12),
    runtime("compile-runtime", ["compilation"], "compile", 1, 8),
    runtime("memory-runtime-6", ["memory-bound"], "memory", 6, 12),
    runtime("memory-runtime-12", ["memory-bound"], "memory", 12, 8),
    runtime("compute-runtime", ["compute-bound"], "compute", 4096, 8),
    runtime("grid-runtime", GRID, "grid", 2, 10),
    runtime("launch-runtime-whole", LAUNCH, "launch", 128, 12, "whole"),
    runtime("host-runtime-whole", ["host-bound"], "busy", 4, 16, "whole"),
    runtime("healthy-runtime-matmul", ["healthy"], "healthy-matmul", 8192, 10),
    runtime("healthy-runtime-gated-mlp", ["healthy"], "healthy-gated-mlp", 4096, 16),
    runtime("healthy-runtime-lora", ["healthy"], "healthy-lora", 4096, 16),
    runtime("healthy-runtime-elementwise", ["healthy"], "healthy-elementwise", 8, 20),
    runtime("healthy-runtime-whole", ["healthy"], "healthy-gated-mlp", 8192, 16, "whole"),
]

# What-if: before and after are both recorded; `option` is what `ridge whatif` is asked.
WHATIF = [
    fault("whatif-fuse-chain", ["memory-bound"], "nothing", 1, 12, faults=[("memory_chain", 6)], option="--fuse"),
    fault("whatif-fuse-between", ["memory-bound"], "layers", 1, 10, faults=[("memory_chain", 10)], option="--fuse"),
    runtime("whatif-fuse-runtime", ["memory-bound"], "memory", 8, 10, option="--fuse"),
    fault("whatif-graph-blocks", LAUNCH, "layers", 0.25, 8, faults=[("launch_blocks", 8)], option="--graph"),
    fault("whatif-graph-cell", LAUNCH, "nothing", 1, 8, faults=[("launch_mixed", 50)], option="--graph"),
    fault("whatif-graph-chain", LAUNCH, "conv", 0.25, 6, faults=[("launch_chain", 500)], option="--graph"),
    fault("whatif-sync-layers", ["sync-in-loop"], "layers", 1, 12, faults=[("sync_layers", 1)], option="--no-sync"),
    fault("whatif-sync-item", ["sync-in-loop"], "conv", 0.25, 16, faults=[("sync_item", 1)], option="--no-sync"),
    fault("whatif-sync-cpu", ["sync-in-loop"], "conv", 0.5, 12, faults=[("sync_cpu", 1)], option="--no-sync"),
    fault("whatif-pinned-32", ["pageable"], "layers", 1, 12, faults=[("pageable", 32)], option="--pinned"),
    fault("whatif-pinned-pieces", ["pageable"], "mlp", 1, 10, faults=[("pageable_pieces", 24)], option="--pinned"),
    fault("whatif-pinned-back", ["pageable"], "block", 1, 10, faults=[("pageable_back", 32)], option="--pinned"),
    fault("whatif-faster-kernel", ["compute-bound"], "layers", 0.5, 12, faults=[("kernel_slow", 3000)], option="--faster multiply_add_loop"),
    fault("whatif-faster-beside-host", ["compute-bound"], "layers", 0.5, 12, faults=[("kernel_slow", 8000), ("host_busy", 2)], option="--faster multiply_add_loop"),
]

# Made by trace_json.py out of recorded traces of healthy runs: (name, of which, how much slower, from which share of the run on)
SLOWED = [
    ("throttle-gemm", "healthy-gemm", 1.3, 0.4),
    ("throttle-layers", "healthy-layers-long", 1.6, 0.5),
    ("throttle-block", "healthy-block-large", 1.2, 0.3),
    ("throttle-conv", "healthy-conv", 1.9, 0.6),
]

ALL = TORCH + RUNTIME + HEALTHY + PAIRS + WHOLE + PROFILER + WHATIF


def find(name):
    for case in ALL:
        if case["name"] == name:
            return case
    raise SystemExit(f"there is no case called {name}")
