/* The end of a program made of a kernel and warp_shim.h: PROGRAM FILE runs the kernel on the
 * buffers of the file and writes them back. The file is a struct shim_file, then the buffers, each
 * at a multiple of 16 bytes. */
struct shim_file {
    int64_t grid, threads, buffers, sizes[12], scalars[40];
};
static struct shim_file shim_header;
static void *shim_buffers[12];

static void shim_thread(void) {
    CALL(shim_buffers, shim_header.scalars);
    shim_at[thread_at.x] = NULL;
    setcontext(&shim_scheduler);
}

static void shim_resume(UINT32 thread) {
    thread_at.x = thread;
    swapcontext(&shim_scheduler, &shim_threads[thread]);
}

/* All threads of a block, from one collective operation to the next. */
static void shim_block(char *stacks) {
    for (UINT32 i = 0; i < threads_in.x; i++) {
        getcontext(&shim_threads[i]);
        shim_threads[i].uc_stack.ss_sp = stacks + (size_t)i * SHIM_STACK;
        shim_threads[i].uc_stack.ss_size = SHIM_STACK;
        makecontext(&shim_threads[i], shim_thread, 0);
        shim_at[i] = "start";
    }
    while (shim_at[0]) {
        for (UINT32 i = 0; i < threads_in.x; i++)
            shim_resume(i);
        for (UINT32 i = 1; i < threads_in.x; i++)
            if (shim_at[i] != shim_at[0]) {
                fprintf(stderr, "thread %u is at %s, thread 0 at %s\n", i,
                        shim_at[i] ? shim_at[i] : "the end", shim_at[0] ? shim_at[0] : "the end");
                exit(2);
            }
    }
}

int main(int count, char **arguments) {
    FILE *file = count == 2 ? fopen(arguments[1], "r+b") : NULL;
    if (!file || fread(&shim_header, sizeof shim_header, 1, file) != 1)
        return 1;
    long start = ftell(file);
    for (int64_t i = 0; i < shim_header.buffers; i++) {
        size_t bytes = (size_t)(shim_header.sizes[i] + 15) / 16 * 16;
        shim_buffers[i] = aligned_alloc(16, bytes + 16);
        if (!shim_buffers[i] || fread(shim_buffers[i], 1, bytes, file) != bytes)
            return 1;
    }
    threads_in.x = (UINT32)shim_header.threads;
    blocks_in.x = (UINT32)shim_header.grid;
    blocks_in.y = blocks_in.z = threads_in.y = threads_in.z = 1;
    char *stacks = malloc((size_t)threads_in.x * SHIM_STACK);
    if (!stacks)
        return 1;
    for (block_at.x = 0; block_at.x < blocks_in.x; block_at.x++)
        shim_block(stacks);
    fseek(file, start, SEEK_SET);
    for (int64_t i = 0; i < shim_header.buffers; i++)
        fwrite(shim_buffers[i], 1, (size_t)(shim_header.sizes[i] + 15) / 16 * 16, file);
    return fclose(file) != 0;
}
