/* Files of weights: what the readers of GGUF and safetensors accept and reject. */
#include "base/array.h"
#include "tensor/weights/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test.h"
#include "base/memory.h"
#include "made_weights.h"

enum { F32 = 0, F16 = 1, Q8_0 = 8, Q4_K = 12, F64 = 28 };

static const float numbers[6] = {1, 2, 3, 4, 5, 6};
static const unsigned char blocks[210];

static const struct made_tensor good[] = {
    {"b.matrix", "F32", F32, 2, {2, 3}, numbers, sizeof numbers},
    {"a.half", "F16", F16, 1, {4}, numbers, 8},
    {"c.scalar", "F32", F32, 0, {0}, numbers, 4},
    {"d.unknown", "F64", F64, 1, {26}, blocks, 208},
};
enum { GOOD = ARRAY_COUNT(good) };
static const struct made_pair pairs[] = {{"general.architecture", "rwkv7", 0},
                                         {"general.alignment", NULL, 32}};

static struct weights *open_gguf(const struct made_tensor *tensors, size_t count,
                                 struct buffer *file, struct status *status) {
    made_gguf(file, tensors, count, pairs, 2);
    return weights_open_bytes(file->data, file->length, status);
}

static void check_good(const struct weights *weights) {
    CHECK_INT(weights_count(weights), GOOD);
    const struct weights_tensor *matrix = weights_find(weights, TEXT("b.matrix"));
    const struct weights_tensor *unknown = weights_find(weights, TEXT("d.unknown"));
    REQUIRE(matrix && unknown);
    CHECK_INT(matrix->dtype, RIDGE_F32);
    CHECK_INT(matrix->rank, 2);
    CHECK_INT(matrix->sizes[0], 2);
    CHECK_INT(matrix->sizes[1], 3);
    CHECK_INT(matrix->bytes, sizeof numbers);
    char data[sizeof numbers];
    struct status status;
    CHECK_OK(weights_read(weights, matrix, 0, data, sizeof data, &status), status);
    CHECK(memcmp(data, numbers, sizeof numbers) == 0);
    CHECK_OK(weights_read(weights, matrix, 4, data, 8, &status), status);
    CHECK(memcmp(data, (const char *)numbers + 4, 8) == 0);
    CHECK_INT(unknown->dtype, RIDGE_DTYPES);
    CHECK_INT(unknown->bytes, 0);
    CHECK(weights_find(weights, TEXT("b.matri")) == NULL);
    CHECK(text_is(weights_at(weights, 0)->name, "a.half"));
}

TEST(a_gguf_file_gives_its_tensors_and_what_it_says_of_itself) {
    struct buffer file = {0};
    struct status status = {0};
    struct weights *weights = open_gguf(good, GOOD, &file, &status);
    CHECK_OK(weights != NULL, status);
    if (weights) {
        struct text text;
        int64_t integer;
        double number;
        check_good(weights);
        CHECK_STRING(weights_format(weights), "GGUF");
        CHECK_STRING(weights_find(weights, TEXT("d.unknown"))->type, "F64");
        CHECK(weights_text(weights, "general.architecture", &text) && text_is(text, "rwkv7"));
        CHECK(weights_integer(weights, "general.alignment", &integer) && integer == 32);
        CHECK(weights_number(weights, "general.alignment", &number) && number == 32);
        CHECK(!weights_integer(weights, "general.architecture", &integer));
        CHECK(!weights_text(weights, "absent", &text));
    }
    weights_close(weights);
    buffer_finish(&file);
}

TEST(a_safetensors_file_gives_the_same_tensors) {
    struct buffer file = {0};
    struct status status = {0};
    made_safetensors(&file, good, GOOD);
    struct weights *weights = weights_open(made_file(&file, ".safetensors"), &status);
    CHECK_OK(weights != NULL, status);
    if (weights) {
        struct text text;
        check_good(weights);
        CHECK_STRING(weights_format(weights), "safetensors");
        CHECK_STRING(weights_find(weights, TEXT("d.unknown"))->type, "F64");
        CHECK(weights_text(weights, "format", &text) && text_is(text, "pt"));
    }
    weights_close(weights);
    buffer_finish(&file);
}

/* The message must name what is wrong. */
static void check_refused(const struct made_tensor *tensors, size_t count, bool gguf,
                          const char *why) {
    struct buffer file = {0};
    struct status status = {0};
    if (gguf)
        made_gguf(&file, tensors, count, pairs, 2);
    else
        made_safetensors(&file, tensors, count);
    struct weights *weights = weights_open_bytes(file.data, file.length, &status);
    CHECK(weights == NULL);
    if (!strstr(status.message, why))
        test_failed(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", status.message, why);
    weights_close(weights);
    buffer_finish(&file);
}

TEST(files_of_weights_that_contradict_themselves_are_refused_by_name) {
    struct made_tensor twice[2] = {good[0], good[0]};
    struct made_tensor deep = good[0], huge = good[0], partial = good[0], beyond = good[0];
    deep.rank = 9;
    for (unsigned i = 0; i < 9; i++)
        deep.sizes[i] = 1;
    huge.sizes[0] = huge.sizes[1] = (int64_t)1 << 40;
    partial.number = Q8_0;
    partial.sizes[1] = 33;
    beyond.sizes[0] = 1000;
    for (unsigned gguf = 0; gguf < 2; gguf++) {
        check_refused(twice, 2, gguf, "two tensors have the name \"b.matrix\"");
        check_refused(&deep, 1, gguf, "\"b.matrix\"");
        check_refused(&huge, 1, gguf, "\"b.matrix\"");
        check_refused(&beyond, 1, gguf, "\"b.matrix\"");
    }
    check_refused(&partial, 1, true, "not whole blocks of Q8_0");
}

TEST(a_file_of_weights_cut_off_anywhere_is_refused_with_a_reason) {
    for (unsigned gguf = 0; gguf < 2; gguf++) {
        struct buffer file = {0};
        if (gguf)
            made_gguf(&file, good, 3, pairs, 2);
        else
            made_safetensors(&file, good, 3);
        for (size_t length = 0; length < file.length; length++) {
            struct status status = {0};
            char *part = malloc(length + 1);
            memcpy(part, file.data, length);
            struct weights *weights = weights_open_bytes(part, length, &status);
            /* What pads the last tensor of a GGUF file may be missing. */
            CHECK(weights || status.code != STATUS_OK);
            CHECK(!weights || (gguf && length + 32 > file.length));
            weights_close(weights);
            free(part);
        }
        buffer_finish(&file);
    }
}

TEST(damage_anywhere_in_a_file_of_weights_never_leads_outside_of_it) {
    uint32_t random = 1;
    for (unsigned round = 0; round < 4000; round++) {
        struct buffer file = {0};
        struct status status = {0};
        if (round % 2)
            made_gguf(&file, good, GOOD, pairs, 2);
        else
            made_safetensors(&file, good, GOOD);
        for (unsigned i = 0; i < 3; i++) {
            random = random * 1664525 + 1013904223;
            file.data[(random >> 8) % file.length] = (char)(random >> 3);
        }
        struct weights *weights = weights_open_bytes(file.data, file.length, &status);
        for (size_t i = 0; weights && i < weights_count(weights); i++) {
            const struct weights_tensor *tensor = weights_at(weights, i);
            CHECK(tensor->bytes <= file.length && tensor->offset <= file.length - tensor->bytes);
        }
        weights_close(weights);
        buffer_finish(&file);
    }
}

TEST(a_header_longer_than_one_read_is_read_in_full) {
    enum { PAIRS = 40000 };
    static struct made_pair many[PAIRS];
    static char names[PAIRS][48];
    for (unsigned i = 0; i < PAIRS; i++) {
        snprintf(names[i], sizeof names[i], "a.key.that.takes.some.bytes.in.the.header.%u", i);
        many[i] = (struct made_pair){names[i], NULL, 32};
    }
    many[PAIRS - 1].key = "general.alignment";
    struct buffer file = {0};
    struct status status = {0};
    made_gguf(&file, good, GOOD, many, PAIRS);
    CHECK(file.length > 2 << 20);
    struct weights *weights = weights_open(made_file(&file, ".gguf"), &status);
    CHECK_OK(weights != NULL, status);
    if (weights)
        check_good(weights);
    weights_close(weights);
    buffer_finish(&file);
}

TEST(a_file_of_weights_that_is_truncated_while_open_is_an_error) {
    for (unsigned gguf = 0; gguf < 2; gguf++) {
        struct buffer file = {0};
        struct status status = {0};
        char data[sizeof numbers];
        if (gguf)
            made_gguf(&file, good, GOOD, pairs, 2);
        else
            made_safetensors(&file, good, GOOD);
        const char *path = made_file(&file, gguf ? ".gguf" : ".safetensors");
        struct weights *weights = weights_open(path, &status);
        CHECK_OK(weights != NULL, status);
        if (weights) {
            const struct weights_tensor *matrix = weights_find(weights, TEXT("b.matrix"));
            CHECK(truncate(path, (off_t)matrix->offset + 4) == 0);
            CHECK(weights_read(weights, matrix, 0, data, 4, &status));
            CHECK(!weights_read(weights, matrix, 0, data, sizeof data, &status));
            CHECK(strstr(status.message, "was truncated while it was being read"));
        }
        weights_close(weights);
        buffer_finish(&file);
    }
}

TEST(a_file_of_weights_is_read_or_said_to_need_more_memory) {
    for (unsigned gguf = 0; gguf < 2; gguf++) {
        struct buffer file = {0};
        struct weights *weights = NULL;
        if (gguf)
            made_gguf(&file, good, GOOD, pairs, 2);
        else
            made_safetensors(&file, good, GOOD);
        for (uint64_t nth = 1; !weights && nth < 100; nth++) {
            struct status status = {0};
            memory_fail_from(nth);
            weights = weights_open_bytes(file.data, file.length, &status);
            memory_fail_from(0);
            CHECK(weights || status.code == STATUS_MEMORY);
        }
        CHECK(weights != NULL);
        weights_close(weights);
        buffer_finish(&file);
    }
}

static void check_unreadable(const char *path, const char *why) {
    struct status status = {0};
    CHECK(weights_open(path, &status) == NULL);
    if (!strstr(status.message, path) || !strstr(status.message, why))
        test_failed(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", status.message, why);
}

TEST(a_path_that_is_no_file_of_weights_is_named_with_the_reason) {
    struct buffer text = {0}, nothing = {0};
    buffer_string(&text, "#!/bin/sh\necho hello\n");
    check_unreadable("/nonexistent/model.gguf", "No such file");
    check_unreadable("/", "not a file");
    check_unreadable(made_file(&nothing, ".gguf"), "empty");
    check_unreadable(made_file(&text, ".sh"), "neither a GGUF nor a safetensors file");
    buffer_finish(&text);
}
