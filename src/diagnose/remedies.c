/* One row per remedy, one column per framework; an empty column falls back to `plain`. */
#include "diagnose/remedies.h"

static const struct {
    const char *plain, *torch, *jax, *ridge, *metal, *opencl, *vulkan;
} remedies[REMEDY_COUNT] = {
    [REMEDY_GRAPH] =
        {"Capture the step in a CUDA graph (cudaStreamBeginCapture)",
         "Capture the step in a CUDA graph (torch.cuda.graph or "
         "torch.compile(mode=\"reduce-overhead\"))",
         "Dispatch less often: the whole step under one jax.jit, or several steps in one "
         "(jax.lax.scan)",
         "Compile the step with ridge_compile(), which replays it as one graph",
         "Encode all dispatches of the step into one command buffer (MLX: mx.compile)",
         .opencl =
             "Record the step once in a command buffer (cl_khr_command_buffer), and enqueue that",
         .vulkan = "Record all dispatches of the step into one command buffer and submit it once "
                   "(wgpu: one CommandEncoder and one queue.submit per step)"},
    [REMEDY_FUSE] = {"Fuse the chain into one kernel", "Fuse the chain with torch.compile",
                     "Put the chain under jax.jit, so that XLA fuses it",
                     "Fuse the chain with ridge_compile()", "Fuse the chain (MLX: mx.compile)",
                     .vulkan = "Fuse the chain into one shader"},
    [REMEDY_BATCH] = {"Do more work per launch with a larger batch",
                      "Use a larger batch, or combine several small calls",
                      "Use a larger batch, or jax.vmap over several small calls", .opencl = NULL},
    [REMEDY_NO_SYNC] =
        {"Move the synchronization out of the loop, or synchronize less often",
         "Keep the value on the device (no .item(), .cpu(), print or if on a tensor in the loop), "
         "or read it less often",
         "Do not read values inside the loop (no float(), print or block_until_ready())",
         "Read results after the loop",
         "Wait for command buffers after the loop (MLX: one mx.eval per step)",
         .opencl = "Wait for events after the loop instead of clFinish and blocking reads inside "
                   "it, or enqueue the next step before waiting",
         .vulkan = "Submit the next step before waiting for this one, and read results after the "
                   "loop (wgpu: map buffers asynchronously instead of waiting in poll)"},
    [REMEDY_PINNED] = {"Allocate host buffers with cudaMallocHost and copy with cudaMemcpyAsync",
                       "Use DataLoader(pin_memory=True) or tensor.pin_memory(), and .to(device, "
                       "non_blocking=True)",
                       NULL, NULL, NULL,
                       .opencl = "Map a buffer created with CL_MEM_ALLOC_HOST_PTR and copy from or "
                                 "to it without blocking",
                       .vulkan = "Keep staging buffers in host-visible memory mapped, and copy "
                                 "from or to them"},
    [REMEDY_BATCH_COPIES] = {"Pack the data into one host buffer and copy it once",
                             "Build one tensor on the host (torch.cat, torch.stack), copy it once "
                             "and split it on the device",
                             "Pack the data into one array and move it with one device_put", NULL,
                             .opencl = NULL},
    [REMEDY_OVERLAP] =
        {"Copy the next step's input on a separate stream while this step computes",
         "Copy the next batch one step ahead, on a separate torch.cuda.Stream with "
         "non_blocking=True from pinned memory",
         "Call device_put for the next batch before waiting for this one", NULL, NULL,
         .opencl = "Copy the next step's input on a second queue while this step computes",
         .vulkan = "Copy the next step's input on a transfer queue while this step computes"},
    [REMEDY_POOL] = {"Allocate before the loop and reuse, or use a memory pool (cudaMallocAsync)",
                     "Preallocate outputs (out=), and do not defeat the caching allocator "
                     "(torch.cuda.empty_cache() in the loop, PYTORCH_NO_CUDA_MEMORY_CACHING)",
                     "Set XLA_PYTHON_CLIENT_PREALLOCATE=true and use donate_argnums",
                     "Keep the tensors, so that the pool can reuse their memory",
                     "Create buffers before the loop and reuse them, or allocate from an MTLHeap",
                     .opencl = "Create buffers before the loop and reuse them, or use sub-buffers "
                               "of one large buffer",
                     .vulkan = "Allocate memory before the loop and reuse it, or place buffers in "
                               "a few large allocations"},
    [REMEDY_COMPILE_AHEAD] =
        {"Compile and load modules before the loop, and set CUDA_MODULE_LOADING=EAGER",
         "Compile and warm up before the loop (TORCH_LOGS=recompiles shows why it recompiles)",
         "Compile ahead with jit(f).lower(...).compile() (JAX_LOG_COMPILES=1 shows compilations)",
         "Compile functions once, before the loop",
         "Create pipelines before the loop and keep them in an MTLBinaryArchive (MLX: call the "
         "function once before the loop)",
         .opencl =
             "Build programs before the loop, and keep their binaries (clCreateProgramWithBinary)",
         .vulkan = "Create pipelines before the loop, and keep a VkPipelineCache on disk"},
    [REMEDY_FIXED_SHAPES] =
        {"Keep shapes and constants fixed, or cache compiled code by key",
         "Mark varying sizes as dynamic (torch.compile(dynamic=True)), or pad to a few sizes",
         "Pad to a few sizes, as every new shape is compiled again", NULL,
         "Pass sizes as arguments instead of function constants (MLX: keep shapes fixed, or "
         "mx.compile(shapeless=True))",
         .opencl =
             "Pass sizes as kernel arguments instead of build options, or cache programs by key",
         .vulkan = "Pass sizes as push constants or in buffers instead of specialization "
                   "constants, or cache pipelines by key"},
    [REMEDY_PREFETCH] =
        {"Prepare the next input in another thread while the device works",
         "Use DataLoader(num_workers=4, pin_memory=True, prefetch_factor=2, "
         "persistent_workers=True)",
         "Prepare batches in a separate thread or process (tf.data prefetch, grain)",
         .opencl = NULL},
    [REMEDY_PRECISION] =
        {"Use tensor cores for matrix products (tf32, bf16 or f16)",
         "Set torch.set_float32_matmul_precision(\"high\") for tf32, or use torch.autocast with "
         "bfloat16",
         "Set jax.default_matmul_precision(\"tensorfloat32\"), or use bfloat16", NULL, NULL,
         .opencl = "Use f16 for matrix products (cl_khr_fp16) if the accuracy allows it",
         .vulkan = "Use f16 and cooperative matrices (VK_KHR_cooperative_matrix) for matrix "
                   "products if the accuracy allows it"},
    [REMEDY_FROM_F64] =
        {"Use f32 (tf32), bf16 or f16 for matrix products if the accuracy allows it",
         "Use float32 tensors if the accuracy allows it, with "
         "torch.set_float32_matmul_precision(\"high\") for tf32",
         "Turn jax_enable_x64 off if the accuracy allows it, with "
         "jax.default_matmul_precision(\"tensorfloat32\")",
         NULL, NULL,
         .opencl = "Use float instead of double for matrix products if the accuracy allows it",
         .vulkan = "Use float instead of double for matrix products if the accuracy allows it"},
    [REMEDY_CONTIGUOUS] =
        {"Coalesce memory accesses, so that adjacent threads read adjacent addresses",
         "Make tensors that are read often contiguous once (.contiguous(), "
         "channels_last), not in every step",
         NULL, NULL, NULL,
         .opencl = "Coalesce memory accesses, so that adjacent work-items read adjacent addresses",
         .vulkan =
             "Coalesce memory accesses, so that adjacent invocations read adjacent addresses"},
    [REMEDY_OVERLAP_COLLECTIVES] =
        {"Start each collective as soon as its data is ready, on a separate stream, and compute "
         "what does not need it meanwhile",
         "Let communication overlap with the backward pass (DistributedDataParallel with its "
         "default buckets, FSDP with forward_prefetch=True), or start it with async_op=True and "
         "wait where the result is needed",
         "Set XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true, so that XLA computes "
         "during collectives",
         .opencl = NULL},
    [REMEDY_LARGER_MESSAGES] =
        {"Combine small collectives into fewer large ones (ncclGroupStart, one flat buffer)",
         "Combine small collectives: DistributedDataParallel(bucket_cap_mb=100), or one flat "
         "tensor",
         "Combine small collectives (XLA_FLAGS=--xla_gpu_all_reduce_combine_threshold_bytes=...)",
         .opencl = NULL},
    [REMEDY_TO_DEVICE] = {"Run this work on the device, where its data is",
                          "Move the tensors to the device (.to(\"cuda\"), device=\"cuda\") and "
                          "keep them there",
                          "Check jax.devices(), as everything runs on the CPU without a GPU plugin",
                          NULL,
                          "Run this work on the GPU (MLX: stream=mx.gpu; PyTorch: without "
                          "PYTORCH_ENABLE_MPS_FALLBACK unsupported operations are errors)",
                          .opencl = NULL},
};

const char *remedy_text(enum framework framework, enum remedy remedy) {
    const char *text = NULL;
    if (framework == FRAMEWORK_TORCH)
        text = remedies[remedy].torch;
    else if (framework == FRAMEWORK_JAX)
        text = remedies[remedy].jax;
    else if (framework == FRAMEWORK_RIDGE)
        text = remedies[remedy].ridge;
    else if (framework == FRAMEWORK_METAL)
        text = remedies[remedy].metal;
    else if (framework == FRAMEWORK_OPENCL)
        text = remedies[remedy].opencl;
    else if (framework == FRAMEWORK_VULKAN)
        text = remedies[remedy].vulkan;
    return text ? text : remedies[remedy].plain;
}

const char *remedy_range_apis(enum framework framework) {
    switch (framework) {
    case FRAMEWORK_TORCH:
        return "NVTX, record_function";
    case FRAMEWORK_METAL:
        return "os_signpost";
    case FRAMEWORK_ROCM:
        return "roctx";
    case FRAMEWORK_VULKAN:
        return "NVTX, VK_EXT_debug_utils";
    default:
        return "NVTX";
    }
}
