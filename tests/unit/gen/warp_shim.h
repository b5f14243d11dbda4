/* Runs a CUDA kernel as C: each thread is a coroutine, which every collective operation suspends
 * until all threads of the block have reached it. The functions of gen/kernels/mma.h are defined
 * by the fragment layouts of the PTX documentation.
 *
 * Included by kernel_shim.h; the program ends with
 *
 *     #define CALL(b, v) kernel(b[0], b[1], ..., *(struct scalars *)(v))
 *     #include "warp_shim_main.h"
 */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { SHIM_THREADS_MAX = 1024, SHIM_STACK = 256 * 1024, SHIM_SHARED = 256 * 1024 };
static ucontext_t shim_scheduler, shim_threads[SHIM_THREADS_MAX];
static const char *shim_at[SHIM_THREADS_MAX];
static UINT32 shim_words[SHIM_THREADS_MAX][10];
static const UINT16 *shim_lines[SHIM_THREADS_MAX];
uint4 dynamic_words[SHIM_SHARED / sizeof(uint4)];

/* Suspends the thread until all others are here as well. */
static inline void shim_meet(const char *where) {
    UINT32 self = thread_at.x;
    shim_at[self] = where;
    swapcontext(&shim_threads[self], &shim_scheduler);
}
#define BARRIER() shim_meet("barrier")

INLINE float shim_shuffle(float x, UINT32 mask) {
    memcpy(&shim_words[thread_at.x][0], &x, 4);
    shim_meet("shuffle");
    memcpy(&x, &shim_words[thread_at.x ^ mask][0], 4);
    shim_meet("shuffled");
    return x;
}
#define SHUFFLE_XOR(x, mask) shim_shuffle(x, mask)

INLINE float shim_half(UINT16 h) {
#ifdef SHIM_BF16
    return AS_FLOAT((UINT32)h << 16);
#else
    return f16_to_f32(h);
#endif
}
INLINE float shim_half_of(UINT32 word, UINT32 index) {
    return shim_half((UINT16)(word >> index * 16));
}

/* Element (row, column) of the 16 x 16 and 16 x 8 operands of the warp that starts at `first`. */
INLINE float shim_a(UINT32 first, UINT32 row, UINT32 k) {
    UINT32 lane = first + row % 8 * 4 + k % 8 / 2;
    return shim_half_of(shim_words[lane][k / 8 * 2 + row / 8], k % 2);
}
INLINE float shim_b(UINT32 first, UINT32 k, UINT32 column) {
    UINT32 lane = first + column * 4 + k % 8 / 2;
    return shim_half_of(shim_words[lane][4 + k / 8], k % 2);
}
INLINE void tensor_multiply(float *sum, UINT32 a0, UINT32 a1, UINT32 a2, UINT32 a3, UINT32 b0,
                            UINT32 b1) {
    UINT32 self = thread_at.x, first = self / 32 * 32, lane = self % 32;
    UINT32 words[6] = {a0, a1, a2, a3, b0, b1};
    memcpy(shim_words[self], words, sizeof words);
    shim_meet("multiply");
    for (UINT32 e = 0; e < 4; e++)
        for (UINT32 k = 0; k < 16; k++)
            sum[e] += shim_a(first, lane / 4 + e / 2 * 8, k) *
                      shim_b(first, k, lane % 4 * 2 + e % 2);
    shim_meet("multiplied");
}

INLINE void shim_check_line(const UINT16 *line) {
    if ((uintptr_t)line % 16 || line < (const UINT16 *)dynamic_words ||
        line + 8 > (const UINT16 *)dynamic_words + sizeof dynamic_words / 2) {
        fprintf(stderr, "a line of 16 bytes is not aligned or not in shared memory\n");
        exit(3);
    }
}
INLINE void shim_load_matrices(UINT32 *words, const UINT16 *line, bool transposed) {
    UINT32 self = thread_at.x, first = self / 32 * 32, lane = self % 32;
    shim_check_line(line);
    shim_lines[self] = line;
    shim_meet("load");
    for (UINT32 m = 0; m < 4; m++) {
        UINT32 pair[2];
        for (UINT32 i = 0; i < 2; i++) {
            UINT32 row = lane / 4, column = lane % 4 * 2 + i;
            pair[i] = transposed ? shim_lines[first + m * 8 + column][row]
                                 : shim_lines[first + m * 8 + row][column];
        }
        words[m] = pair[0] | pair[1] << 16;
    }
    shim_meet("loaded");
}
#define LOAD_MATRICES(words, line) shim_load_matrices(words, line, false)
#define LOAD_MATRICES_TRANSPOSED(words, line) shim_load_matrices(words, line, true)

/* Copies arrive when they are waited for. */
static struct shim_copy {
    UINT16 *to;
    UINT16 data[8];
} shim_copies[SHIM_THREADS_MAX][256];
static UINT32 shim_copy_count[SHIM_THREADS_MAX];
INLINE void COPY16_ASYNC(UINT16 *to, const UINT16 *from, bool inside) {
    struct shim_copy *copy = &shim_copies[thread_at.x][shim_copy_count[thread_at.x]++];
    shim_check_line(to);
    *copy = (struct shim_copy){.to = to};
    if (inside)
        memcpy(copy->data, from, 16);
    memset(to, 0xFF, 16);
}
INLINE void COPIES_COMMIT() {}
INLINE void COPIES_WAIT(int groups) {
    (void)groups;
    for (UINT32 i = 0; i < shim_copy_count[thread_at.x]; i++)
        memcpy(shim_copies[thread_at.x][i].to, shim_copies[thread_at.x][i].data, 16);
    shim_copy_count[thread_at.x] = 0;
}
#define EXP2(x) exp2f(x)
