/* What a kernel's name tells: names.txt has a line for each name, as this prints it. UPDATE=1
 * writes the file anew from the names in it; read the difference. */
#include "../test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication.h"
#include "analysis/input_names.h"
#include "analysis/kernel_class.h"
#include "analysis/kernels.h"
#include "analysis/lines.h"
#include "analysis/model.h"
#include "base/text.h"

#define FILE_NAME "tests/unit/analysis/names.txt"
enum { LINE_BYTES = 2048 };
#define SEPARATOR " => "

static const char *const class_names[KERNEL_CLASS_COUNT] = {
    "other",  "elementwise", "strided",   "fused",     "streaming",
    "matmul", "matmul-f32",  "sort-scan", "collective"};

static void add(struct buffer *line, bool is_so, const char *word) {
    if (is_so) {
        buffer_string(line, " ");
        buffer_string(line, word);
    }
}

static void add_number(struct buffer *line, const char *word, unsigned number) {
    char text[64];
    snprintf(text, sizeof text, " %s=%u", word, number);
    buffer_string(line, number ? text : "");
}

/* Appends the name and all that is told by it. */
static void describe(struct text name, struct buffer *line) {
    struct status status = {0};
    struct kernel_traits traits = kernel_traits_of(name);
    buffer_text(line, name);
    buffer_string(line, SEPARATOR);
    CHECK_OK(kernel_short_name(name, line, &status), status);
    add(line, true, class_names[kernel_class(name)]);
    add(line, kernel_is_f64(name), "f64");
    add(line, traits.f32, "f32");
    add(line, traits.f16, "f16");
    add(line, traits.bf16, "bf16");
    add(line, traits.matrix_f32, "matrix-f32");
    add(line, traits.multiplies, "multiplies");
    add(line, traits.fewer_multiplications, "fewer-multiplications");
    add(line, traits.functions, "functions");
    add(line, traits.communicates, "communicates");
    add(line, kernel_communicates(name), "collective-kernel");
    add(line, name_is_input(name), "input");
    add(line, lines_is_library(name), "library");
    add(line, call_is_asynchronous(name), "asynchronous");
    add_number(line, "size", traits.size);
    add_number(line, "arrays", traits.arrays);
    add_number(line, "per-thread", traits.per_thread);
    buffer_string(line, "\n");
}

TEST(a_name_tells_what_names_txt_says) {
    char line[LINE_BYTES];
    struct buffer measured = {0}, expected = {0};
    FILE *file = fopen(FILE_NAME, "r");
    REQUIRE(file);
    while (fgets(line, sizeof line, file)) {
        char *separator = strstr(line, SEPARATOR);
        size_t length = separator ? (size_t)(separator - line) : strcspn(line, "\n");
        buffer_string(&expected, line);
        size_t from = measured.length;
        describe((struct text){line, length}, &measured);
        if (!getenv("UPDATE") &&
            !text_is((struct text){measured.data + from, measured.length - from}, line))
            test_failed(__FILE__, __LINE__, "%.*sbut " FILE_NAME " has %s",
                        (int)(measured.length - from), measured.data + from, line);
    }
    fclose(file);
    CHECK(expected.length > 0);
    if (getenv("UPDATE") && (file = fopen(FILE_NAME, "w"))) {
        fwrite(measured.data, 1, measured.length, file);
        fclose(file);
    }
    buffer_finish(&measured);
    buffer_finish(&expected);
}
