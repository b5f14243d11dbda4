/* Writes the kernels of stream.h: source for GPUs and OpenCL, a function for the CPU's threads. */
#include "bench/roofs/stream.h"

#include <stdio.h>

#include "gen/emit/dialect.h"

static const char load_words[] =
    "#ifdef __CUDACC__\n"
    "INLINE WORDS4 load_past(GLOBAL const UCHAR *p) {\n"
    "    WORDS4 w;\n"
    "    asm volatile(\"ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];\"\n"
    "                 : \"=r\"(w.x), \"=r\"(w.y), \"=r\"(w.z), \"=r\"(w.w) : \"l\"(p));\n"
    "    return w;\n"
    "}\n"
    "#else\n"
    "#define load_past(p) LOAD16(p)\n"
    "#endif\n";

/* What is done with `unroll` words at i, i + step, ...: indices are of 16 bytes. */
static void write_body(struct buffer *out, const struct stream_source *source) {
    const char *load = source->past_nearest ? "load_past" : "LOAD16";
    unsigned unroll = source->unroll;
    for (unsigned k = 0; k < unroll && source->kind != STREAM_WRITE; k++)
        buffer_printf(out, "WORDS4 w%u = %s(from + (i + %u * step) * 16);\n", k, load, k);
    for (unsigned k = 0; k < unroll; k++)
        switch (source->kind) {
        case STREAM_READ:
            buffer_printf(out, "s.x ^= w%u.x, s.y ^= w%u.y, s.z ^= w%u.z, s.w ^= w%u.w;\n", k, k, k,
                          k);
            break;
        case STREAM_WRITE:
            buffer_printf(out, "STORE16(to + (i + %u * step) * 16, value);\n", k);
            break;
        default:
            buffer_printf(out, "STORE16(to + (i + %u * step) * 16, w%u);\n", k, k);
        }
}

static void write_kernel(struct buffer *out, enum device_language language,
                         const struct stream_source *source, const char *name) {
    const struct source_parameter buffers[] = {
        {.name = "to", .dtype = RIDGE_U8, .stored = true, .no_alias = true},
        {.name = "from", .dtype = RIDGE_U8, .no_alias = true},
    };
    const struct source_kernel kernel = {
        .name = name,
        .buffers = buffers,
        .buffer_count = 2,
        .scalar_count = STREAM_SCALARS,
        .threads = source->threads,
    };
    source_prelude(out, language, false);
    buffer_string(out, load_words);
    source_kernel_begin(out, language, &kernel);
    buffer_string(out, "WORDS4 s = MAKE_WORDS4(0, 0, 0, 0);\n"
                       "WORDS4 value = MAKE_WORDS4(THREAD_X + 1, BLOCK_X, 0x9e3779b9u, 77u);\n"
                       "const INT64 step = scalars.v[2];\n"
                       "for (INT64 turn = 0; turn < scalars.v[3]; turn++) {\n"
                       "INT64 block = (BLOCK_X + turn * scalars.v[5]) % GRID_X;\n"
                       "INT64 end = scalars.v[0] + block * scalars.v[4];\n");
    buffer_printf(out,
                  "for (INT64 i = block * scalars.v[1] + THREAD_X; i < end; i += %u * step) {\n",
                  source->unroll);
    write_body(out, source);
    buffer_string(out, "}\n}\n");
    /* Never true for the buffer's content, which the compiler does not know. */
    if (source->kind == STREAM_READ)
        buffer_string(out,
                      "if ((s.x ^ s.y ^ s.z ^ s.w) == 0x5bd1e995u) to[THREAD_X] = (UCHAR)s.x;\n");
    buffer_string(out, "}\n");
}

bool stream_load_source(const struct roof_bench *bench, const struct stream_source *source,
                        struct device_kernel **kernel, struct status *status) {
    static const char *const names[STREAM_KINDS] = {"stream_read", "stream_write", "stream_copy"};
    const char *name = names[source->kind];
    struct buffer text = {0};
    write_kernel(&text, bench->capabilities->language, source, name);
    struct kernel_code code = {
        .kind = CODE_SOURCE, .name = name, .source = text.data, .source_length = text.length};
    bool loaded =
        buffer_ok(&text, status) && bench->device->ops->load(bench->device, &code, kernel, status);
    buffer_finish(&text);
    return loaded;
}

/* ---- The CPU's team ---------------------------------------------------------------------- */

static void run_stream(const struct native_call *call) {
    stream_pass *const *pass = call->context;
    size_t bytes = (size_t)call->scalars[0], chunk = (size_t)call->scalars[1], begin, end;
    bool own = call->scalars[2] != 0;
    uint64_t sum = 0;
    while (native_take(call, 1, &begin, &end)) {
        size_t at = (own ? call->thread : begin) * chunk;
        size_t length = bytes - at < chunk ? bytes - at : chunk;
        for (int64_t turn = 0; turn < call->scalars[3]; turn++)
            sum +=
                (*pass)((char *)call->buffers[0] + at, (const char *)call->buffers[1] + at, length);
    }
    if (sum == 0x5bd1e9955bd1e995u) /* the passes are not known here to have no other effect */
        *(char *)call->buffers[0] = (char)sum;
}

bool stream_load_native(const struct roof_bench *bench, const struct native_stream *stream,
                        struct device_kernel **kernel, struct status *status) {
    struct kernel_code code = {
        .kind = CODE_NATIVE,
        .name = "stream",
        .function = run_stream,
        .context = &stream->pass,
        .context_size = sizeof stream->pass,
    };
    return bench->device->ops->load(bench->device, &code, kernel, status);
}
