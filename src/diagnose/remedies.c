/* One row a piece of remedy, one column a framework; where a column is empty the plain words do. */
#include "diagnose/remedies.h"

static const struct {
    const char *plain, *torch, *jax, *ridge, *metal;
} remedies[REMEDY_COUNT] = {
    [REMEDY_GRAPH] =
        {"Capture the step as a CUDA graph (cudaStreamBeginCapture) and launch that",
         "Capture the step with torch.cuda.graph, or torch.compile(mode=\"reduce-overhead\")",
         "Put the whole step under one jax.jit, so that it is dispatched once",
         "Compile the step with ridge_compile(), which replays it as one graph",
         "Encode the step's dispatches into one command buffer (MLX: mx.compile)"},
    [REMEDY_FUSE] = {"Write the chain as one kernel", "Compile the chain with torch.compile",
                     "Put the chain under jax.jit, so that XLA fuses it",
                     "Compile the function with ridge_compile(), which fuses the chain",
                     "Fuse the chain (MLX: mx.compile)"},
    [REMEDY_BATCH] = {"Give each launch more to do: a larger batch",
                      "Use a larger batch, or gather several small calls into one",
                      "Use a larger batch, or jax.vmap over several small calls", NULL, NULL},
    [REMEDY_NO_SYNC] =
        {"Take the waiting call out of the loop, or make it once in many turns",
         "Keep the value on the device (no .item(), .cpu(), print or if on a tensor in the loop), "
         "or read it once in many steps",
         "Do not look at values inside the loop (no float(), print or block_until_ready())",
         "Read results after the loop, not inside it",
         "Wait for command buffers after the loop, not inside it (MLX: one mx.eval a step)"},
    [REMEDY_PINNED] =
        {"Allocate the host's side with cudaMallocHost and copy with cudaMemcpyAsync",
         "DataLoader(pin_memory=True), or tensor.pin_memory(), and .to(device, non_blocking=True)",
         NULL, NULL, NULL},
    [REMEDY_BATCH_COPIES] = {"Gather the pieces into one buffer on the host and copy that once",
                             "Build one tensor on the host (torch.cat, torch.stack), copy it once "
                             "and split it on the device",
                             "Put the pieces into one array and move that with one device_put",
                             NULL, NULL},
    [REMEDY_OVERLAP] =
        {"Copy the next step's input in a stream of its own while this step computes",
         "Copy the next batch in a torch.cuda.Stream of its own with non_blocking=True (pinned), "
         "one step ahead",
         "Call device_put for the next batch before waiting for this one", NULL, NULL},
    [REMEDY_POOL] = {"Allocate before the loop and reuse, or take a pool (cudaMallocAsync)",
                     "Let the caching allocator work: no torch.cuda.empty_cache() in the loop, no "
                     "PYTORCH_NO_CUDA_MEMORY_CACHING; allocate outputs before the loop (out=)",
                     "XLA_PYTHON_CLIENT_PREALLOCATE=true, and donate_argnums for what is replaced",
                     "Keep the tensors: the pool hands their memory out again", NULL},
    [REMEDY_COMPILE_AHEAD] =
        {"Compile and load modules before the loop; set CUDA_MODULE_LOADING=EAGER",
         "Compile and warm up before the loop; TORCH_LOGS=recompiles tells what makes it compile "
         "again",
         "Compile ahead with jit(f).lower(...).compile(); JAX_LOG_COMPILES=1 tells why it compiles",
         "Compile functions once, before the loop", NULL},
    [REMEDY_FIXED_SHAPES] = {"Keep shapes and constants fixed, or keep what was compiled by key",
                             "Mark changing sizes as dynamic (torch.compile(dynamic=True)), or pad "
                             "to a few sizes",
                             "Pad to a few sizes; changing shapes compile again", NULL, NULL},
    [REMEDY_PREFETCH] =
        {"Prepare the next input in another thread while the device works",
         "DataLoader(num_workers=4 or more, pin_memory=True, prefetch_factor=2, "
         "persistent_workers=True)",
         "Prepare batches in a thread or process of their own (tf.data prefetch, grain)", NULL,
         NULL},
    [REMEDY_PRECISION] =
        {"Let the products use the matrix units: tf32, bf16 or f16",
         "torch.set_float32_matmul_precision(\"high\") for tf32, or torch.autocast with bfloat16",
         "jax.default_matmul_precision(\"tensorfloat32\"), or bfloat16", NULL, NULL},
    [REMEDY_FROM_F64] = {"Do the products in f32 (tf32), bf16 or f16 where the results allow it",
                         "Make the tensors float32 where the results allow it, with "
                         "torch.set_float32_matmul_precision(\"high\") for tf32",
                         "Leave jax_enable_x64 off where the results allow it, with "
                         "jax.default_matmul_precision(\"tensorfloat32\")",
                         NULL, NULL},
    [REMEDY_CONTIGUOUS] =
        {"Read and write memory in its order: neighbours in a warp, neighbours in "
         "memory",
         "Make what is read often contiguous once (.contiguous(), "
         "channels_last), not in every step",
         NULL, NULL, NULL},
    [REMEDY_TO_DEVICE] = {"Do this work on the device, where its data are",
                          "Move the tensors to the device before (.to(\"cuda\"), device=\"cuda\"), "
                          "and keep them there",
                          "Check jax.devices(): without a GPU plugin all runs on the CPU", NULL,
                          NULL},
};

const char *remedy_text(enum framework framework, enum remedy remedy) {
    const char *words = NULL;
    if (framework == FRAMEWORK_TORCH)
        words = remedies[remedy].torch;
    else if (framework == FRAMEWORK_JAX)
        words = remedies[remedy].jax;
    else if (framework == FRAMEWORK_RIDGE)
        words = remedies[remedy].ridge;
    else if (framework == FRAMEWORK_METAL)
        words = remedies[remedy].metal;
    return words ? words : remedies[remedy].plain;
}
