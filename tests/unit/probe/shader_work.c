/* Bytes and operations of compute shaders, from SPIR-V that is assembled here. */
#include "../test.h"

#include <stdarg.h>
#include <string.h>

#include "probe/vulkan/shader_module.h"

enum { WORDS_MAX = 512, END = -1 };

struct assembly {
    uint32_t words[WORDS_MAX];
    size_t count;
};

/* An instruction; END after its operands. */
static void put(struct assembly *to, uint32_t op, ...) {
    va_list operands;
    size_t first = to->count++;
    va_start(operands, op);
    for (int word = va_arg(operands, int); word != END; word = va_arg(operands, int))
        to->words[to->count++] = (uint32_t)word;
    va_end(operands);
    to->words[first] = (uint32_t)(to->count - first) << 16 | op;
}

enum id {
    MAIN = 1,
    VOID,
    FUNCTION_TYPE,
    INT,
    FLOAT,
    BOOL,
    ZERO,
    ONE,
    TEN,
    ARRAY,
    BLOCK,
    BLOCK_POINTER,
    FLOAT_POINTER,
    FIRST, /* buffers: bindings 0, 1 and 2 */
    SECOND,
    THIRD,
    PUSH,
    PUSH_TYPE,
    PUSH_BLOCK_POINTER,
    PUSH_POINTER,
    UNSIZED, /* a number in the first buffer */
    ENTRY,
    HEADER,
    BODY,
    AGAIN,
    AFTER,
    I,
    NEXT,
    STAY,
    LIMIT,
    LIMIT_PLACE,
    A,
    A_PLACE,
    B,
    B_PLACE,
    PRODUCT,
    OUT_PLACE,
    SPECIAL,
    IDS
};

/* void main() with three buffers of floats and a push constant of one integer. */
static void begin(struct assembly *to) {
    static const uint32_t header[] = {0x07230203, 0x00010300, 0, IDS, 0};
    *to = (struct assembly){.count = SPIRV_HEADER};
    memcpy(to->words, header, sizeof header);
    put(to, OP_ENTRY_POINT, 5, MAIN, 0x6E69616D, 0, END);
    for (int i = 0; i < 3; i++) {
        put(to, OP_DECORATE, FIRST + i, DECORATION_DESCRIPTOR_SET, 0, END);
        put(to, OP_DECORATE, FIRST + i, DECORATION_BINDING, i, END);
    }
    put(to, OP_DECORATE, SPECIAL, DECORATION_SPEC_ID, 7, END);
    put(to, OP_MEMBER_DECORATE, PUSH_TYPE, 0, DECORATION_OFFSET, 0, END);
    put(to, 19, VOID, END);
    put(to, 33, FUNCTION_TYPE, VOID, END);
    put(to, OP_TYPE_INT, INT, 32, 1, END);
    put(to, OP_TYPE_FLOAT, FLOAT, 32, END);
    put(to, 20, BOOL, END);
    put(to, OP_CONSTANT, INT, ZERO, 0, END);
    put(to, OP_CONSTANT, INT, ONE, 1, END);
    put(to, OP_CONSTANT, INT, TEN, 10, END);
    put(to, OP_SPEC_CONSTANT, INT, SPECIAL, 5, END);
    put(to, OP_TYPE_RUNTIME_ARRAY, ARRAY, FLOAT, END);
    put(to, OP_TYPE_STRUCT, BLOCK, ARRAY, END);
    put(to, OP_TYPE_POINTER, BLOCK_POINTER, CLASS_STORAGE_BUFFER, BLOCK, END);
    put(to, OP_TYPE_POINTER, FLOAT_POINTER, CLASS_STORAGE_BUFFER, FLOAT, END);
    for (int i = 0; i < 3; i++)
        put(to, OP_VARIABLE, BLOCK_POINTER, FIRST + i, CLASS_STORAGE_BUFFER, END);
    put(to, OP_TYPE_STRUCT, PUSH_TYPE, INT, END);
    put(to, OP_TYPE_POINTER, PUSH_BLOCK_POINTER, CLASS_PUSH_CONSTANT, PUSH_TYPE, END);
    put(to, OP_TYPE_POINTER, PUSH_POINTER, CLASS_PUSH_CONSTANT, INT, END);
    put(to, OP_VARIABLE, PUSH_BLOCK_POINTER, PUSH, CLASS_PUSH_CONSTANT, END);
    put(to, OP_FUNCTION, VOID, MAIN, 0, FUNCTION_TYPE, END);
    put(to, OP_LABEL, ENTRY, END);
}

/* first[0] * second[0] */
static void multiply(struct assembly *to) {
    put(to, OP_ACCESS_CHAIN, FLOAT_POINTER, A_PLACE, FIRST, ZERO, ZERO, END);
    put(to, OP_LOAD, FLOAT, A, A_PLACE, END);
    put(to, OP_ACCESS_CHAIN, FLOAT_POINTER, B_PLACE, SECOND, ZERO, ZERO, END);
    put(to, OP_LOAD, FLOAT, B, B_PLACE, END);
    put(to, OP_F_MUL, FLOAT, PRODUCT, A, B, END);
}

/* third[0] = the product, and the end. */
static void finish(struct assembly *to) {
    put(to, OP_ACCESS_CHAIN, FLOAT_POINTER, OUT_PLACE, THIRD, ZERO, ZERO, END);
    put(to, OP_STORE, OUT_PLACE, PRODUCT, END);
    put(to, 253, END);
    put(to, OP_FUNCTION_END, END);
}

/* for (int i = 0; i < limit; i++) multiply, then store. */
static void loop(struct assembly *to, uint32_t limit) {
    begin(to);
    put(to, OP_ACCESS_CHAIN, PUSH_POINTER, LIMIT_PLACE, PUSH, ZERO, END);
    put(to, OP_LOAD, INT, LIMIT, LIMIT_PLACE, END);
    put(to, OP_ACCESS_CHAIN, FLOAT_POINTER, UNSIZED, FIRST, ZERO, ONE, END);
    put(to, OP_BRANCH, HEADER, END);
    put(to, OP_LABEL, HEADER, END);
    put(to, OP_PHI, INT, I, ZERO, ENTRY, NEXT, AGAIN, END);
    put(to, OP_S_LESS, BOOL, STAY, I, (int)limit, END);
    put(to, OP_LOOP_MERGE, AFTER, AGAIN, 0, END);
    put(to, OP_BRANCH_CONDITIONAL, STAY, BODY, AFTER, END);
    put(to, OP_LABEL, BODY, END);
    multiply(to);
    put(to, OP_BRANCH, AGAIN, END);
    put(to, OP_LABEL, AGAIN, END);
    put(to, OP_I_ADD, INT, NEXT, I, ONE, END);
    put(to, OP_BRANCH, HEADER, END);
    put(to, OP_LABEL, AFTER, END);
    finish(to);
}

static struct shader_estimate estimate(const struct assembly *from,
                                       const struct vk_specialization_info *values, uint32_t pushed,
                                       uint64_t range) {
    struct shader_work work;
    struct shader_arguments arguments = {.grid = {4, 1, 1}, .block = {32, 1, 1}};
    struct shader_estimate none = {0};
    memcpy(arguments.push, &pushed, sizeof pushed);
    for (unsigned i = 0; i < 3; i++)
        arguments.ranges[0][i] = range;
    return shader_work_read(from->words, from->count, "main", values, &work)
               ? shader_work_estimate(&work, &arguments)
               : none;
}
static bool is(struct shader_estimate found, uint64_t bytes, uint64_t flops) {
    return found.bytes == bytes && found.flops == flops;
}

TEST(a_shader_without_loops_is_counted_by_its_instructions) {
    struct assembly code;
    begin(&code);
    multiply(&code);
    finish(&code);
    CHECK(is(estimate(&code, NULL, 0, 1 << 20), 3 * 4 * 128, 128));
    CHECK(is(estimate(&code, NULL, 0, 100), 3 * 100, 128)); /* no more than the ranges */
    CHECK(is(estimate(&code, NULL, 0, 0), 0, 128));         /* without them unknown */
}

TEST(a_trip_count_is_a_constant_or_specialized_or_pushed) {
    const uint32_t seven = 7;
    const struct vk_specialization_map_entry map = {7, 0, 4};
    const struct vk_specialization_info values = {1, &map, sizeof seven, &seven};
    struct assembly code;
    loop(&code, TEN);
    CHECK(is(estimate(&code, NULL, 0, 1 << 20), 2 * 4 * 1280 + 4 * 128, 1280));
    loop(&code, SPECIAL);
    CHECK(is(estimate(&code, NULL, 0, 1 << 20), 2 * 4 * 640 + 4 * 128, 640));
    CHECK(is(estimate(&code, &values, 0, 1 << 20), 2 * 4 * 896 + 4 * 128, 896));
    loop(&code, LIMIT);
    CHECK(is(estimate(&code, NULL, 3, 1 << 20), 2 * 4 * 384 + 4 * 128, 384));
    CHECK(is(estimate(&code, NULL, 0, 1 << 20), 4 * 128, 0));
}

TEST(a_loop_of_unknown_length_over_two_buffers_is_a_product) {
    struct assembly code;
    loop(&code, A); /* no integer, but nothing that is known */
    struct shader_estimate found = estimate(&code, NULL, 0, 4 * 64 * 64);
    CHECK(found.flops > 2 * 64 * 64 * 64 - 10 && found.flops < 2 * 64 * 64 * 64 + 10);
    CHECK(found.bytes == 2 * 4 * 64 * 64 + 4 * 128);
}

TEST(damaged_shaders_do_no_harm) {
    struct assembly whole, code;
    uint64_t state = 1;
    loop(&whole, LIMIT);
    for (size_t words = 0; words <= whole.count; words++) {
        code = whole;
        code.count = words;
        estimate(&code, NULL, 3, 1 << 20);
    }
    for (unsigned i = 0; i < 20000; i++) {
        code = whole;
        for (unsigned k = 0; k < 3; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t at = 3 + (size_t)(state >> 33) % (code.count - 3);
            code.words[at] = state >> 62 ? (uint32_t)(state >> 20) % IDS : (uint32_t)(state >> 16);
        }
        CHECK(estimate(&code, NULL, 3, 1 << 20).bytes < UINT64_MAX);
    }
}
