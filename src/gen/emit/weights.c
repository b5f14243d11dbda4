/* Writes the functions that read quantized weights. */
#include "gen/emit/weights.h"

#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_weights_h[];

void source_weights(struct buffer *out, enum ridge_dtype type) {
    source_section(out, embedded_weights_h, "half");
    source_section(out, embedded_weights_h, "packed");
    source_section(out, embedded_weights_h, ridge_dtype_name(type));
}
