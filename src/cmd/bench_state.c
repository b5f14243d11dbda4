/* One file in ridge's cache folder per set of arguments, rewritten after each result. */
#include "cmd/bench_state.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/checksum.h"
#include "device/cache.h"

static void describe(const struct run_options *options, struct buffer *text) {
    const struct bench_options *bench = &options->bench;
    buffer_printf(text, "ridge %s ", RIDGE_VERSION);
    for (unsigned i = 0; options->experiments[i]; i++)
        buffer_printf(text, "%s ", options->experiments[i]->name);
    for (unsigned i = 0; options->devices[i]; i++)
        buffer_printf(text, "-d %s ", options->devices[i]);
    for (unsigned i = 0; i < bench->dtype_count; i++)
        buffer_printf(text, "%s ", ridge_dtype_name(bench->dtypes[i]));
    for (unsigned i = 0; i < bench->size_count; i++)
        buffer_printf(text, "size %" PRId64 " ", bench->sizes[i]);
    for (unsigned i = 0; i < bench->batch_count; i++)
        buffer_printf(text, "batch %" PRId64 " ", bench->batches[i]);
    buffer_printf(text, "model %s peer %s small %d rounds %u seconds %g iterations %u",
                  bench->model ? bench->model : "", options->peer ? options->peer : "",
                  bench->small, options->rounds, options->measure.seconds,
                  options->measure.iterations);
}

void bench_state_open(struct bench_state *state, const struct run_options *options) {
    struct buffer text = {0};
    struct status ignored = {0};
    *state = (struct bench_state){0};
    describe(options, &text);
    if (!text.failed && cache_folder(&state->path, &ignored)) {
        state->path.length = strlen(state->path.data);
        buffer_printf(&state->path, "/bench-%016" PRIx64 ".json",
                      checksum64(text.data, text.length));
        buffer_byte(&state->path, 0);
    }
    if (!state->path.data || state->path.failed)
        bench_state_close(state);
    buffer_finish(&text);
}

void bench_state_close(struct bench_state *state) {
    buffer_finish(&state->path);
    *state = (struct bench_state){0};
}

bool bench_state_load(const struct bench_state *state, struct result_set *set) {
    struct status ignored = {0};
    *set = (struct result_set){0};
    return state->path.data && access(state->path.data, R_OK) == 0 &&
           result_set_read(set, state->path.data, &ignored);
}

void bench_state_keep(const struct bench_state *state, const struct result_set *set) {
    struct status ignored = {0};
    struct output output;
    if (!state->path.data || !output_open(&output, state->path.data, true, &ignored))
        return;
    result_set_write(set, &output);
    output_commit(&output, &ignored);
}

void bench_state_forget(const struct bench_state *state) {
    if (state->path.data)
        unlink(state->path.data);
}
