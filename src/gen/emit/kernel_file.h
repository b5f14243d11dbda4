/* Kernel source in files: src/gen/kernels, embedded by scripts/embed.
 *
 * A file is written in the dialect of dialect.h. Lines "// section: NAME" divide it into sections;
 * the lines before the first one are a section without a name. Other lines that start with // are
 * comments: they and blank lines at either end of a section are not part of the kernel's source.
 */
#ifndef RIDGE_GEN_EMIT_KERNEL_FILE_H
#define RIDGE_GEN_EMIT_KERNEL_FILE_H

#include "base/text.h"

/* Appends a section of `file`, an array of scripts/embed, without its comments. NULL selects the
 * section without a name. The section must exist. */
void source_section(struct buffer *out, const unsigned char *file, const char *section);

#endif
