/* Writes the macros of CUDA's matrix units. */
#include "gen/emit/mma.h"

#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_mma_h[];

void source_mma(struct buffer *out, enum ridge_dtype type) {
    buffer_printf(out, "#define TENSOR_TYPE \"%s\"\n", type == RIDGE_BF16 ? "bf16" : "f16");
    source_section(out, embedded_mma_h, NULL);
}

void source_mma_staged(struct buffer *out) {
    source_section(out, embedded_mma_h, "staged");
}
