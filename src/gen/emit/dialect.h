/* The language of kernel source: C with the macros below, which are portable across CUDA, OpenCL
 * C, Metal and GLSL. source_prelude() defines them for a device; source_kernel_begin() writes the
 * head of a kernel, which differs too much between them for macros.
 *
 * GLSL restricts it: no pointers except to buffers, and these only through the macros; casts by
 * CAST(); conditions are bool; a UINT32 does not become an int by itself; UINT16 and UCHAR are only
 * loaded, stored and cast. */
#ifndef RIDGE_GEN_EMIT_DIALECT_H
#define RIDGE_GEN_EMIT_DIALECT_H

#include "base/text.h"
#include "device/device.h"

/* The macros.
 *
 *   INT64 UINT64 UINT32 UINT16 UCHAR      integers of that size; int and float are themselves
 *   CAST(T, x)                            x converted to T
 *   POINTER(T) p, CONST_POINTER(T) p      a pointer to a buffer's elements
 *   AT(p, i) ELEMENT(p, i)                the pointer i elements on, and the element there
 *   POINTER_CAST(T, p) CONST_POINTER_CAST(T, p)   the same address as a pointer to another type
 *   ADDRESS(p) DISTANCE(p, q)             UINT64; bytes from q to p, which point to UCHAR
 *   SHARED T name[N];                     an array of the block, declared after
 *                                         source_kernel_begin()
 *   SHARED_FLOATS(name, N)                the same of floats, with SHARED_LOAD16(name, i)
 *   dynamic_shared                        IN_SHARED UCHAR *, if the kernel requests it; not in GLSL
 *   BARRIER()                             all threads of the block; orders shared memory
 *   GLOBAL_BARRIER()                      the same; also orders buffers
 *   THREAD_X THREADS_X BLOCK_X BLOCK_Y BLOCK_Z GRID_X GRID_Y GRID_Z
 *                                         unsigned; in Metal only in the kernel itself; GLSL has no
 *                                         BLOCK_Z and GRID_Z
 *   INLINE                                starts a function
 *   PRIVATE_ARRAY(T, name, N)             its parameter that is an array of the thread
 *   UNROLL                                before a for loop with constant bounds
 *   scalars.v[i]                          the launch's scalars, INT64
 *
 *   LOAD_F32 LOAD_F16 LOAD_BF16 LOAD_I32 LOAD_U8 (p, i)     element i as float or int
 *   STORE_F32 ... (p, i, x)               stores, rounding to nearest
 *   WORDS4 LOAD16(p), WORDS2 LOAD8(p)     16 or 8 aligned bytes of a buffer: .x .y .z .w UINT32
 *   STORE16(p, words) STORE8(p, words) MAKE_WORDS4(x, y, z, w) MAKE_WORDS2(x, y)
 *   SHARED_LOAD16(name, i)                WORDS4 from element i of SHARED_FLOATS, a multiple of 4
 *   LOAD4(p) STORE4(p, word)              one aligned word of a buffer
 *   LOAD_F16_8(p, a, first);              8 elements at p, aligned to their size, to a private
 *                                         array of float (int) from a[first] on; a statement
 *   STORE_F16_8(p, a);                    from a[0] on; both for all five types, 2, 4 and 8
 *   U32_LO_F16(u) U32_HI_F16(u) U32_LO_BF16(u) U32_HI_BF16(u)   a half of a word as float
 *   PACK_F16(lo, hi) PACK_BF16(lo, hi)    two floats as a word
 *   AS_FLOAT(u) AS_UINT(x)                the same 32 bits; AS_INT(u) INT_AS_UINT(x) for ints
 *   MUL_HIGH(a, b)                        the upper 32 bits of a product of two UINT32
 *
 *   FMA(a, b, c), and the macros of gen/ops.h: EXP ... POW TRUTH SELECT ISELECT IABS IDIV IMOD
 *   I2F F2I ROUND_F16 ROUND_BF16; INFINITE, a float
 *   MAX_NAN(a, b) MIN_NAN(a, b)           NaN if either is
 *   divide_by(x, d)                       x / y for one y and many x, with DIVISOR d =
 *                                         divisor_of(y)
 *
 *   GROUP_SUM(x, width, n) GROUP_MAX GROUP_MIN                of floats
 *   GROUP_SUM_INT GROUP_MAX_INT GROUP_MIN_INT                 of ints
 *   GROUP_ARGMAX(v, i, width, n) GROUP_ARGMIN                 indices i of values v; also _INT
 *        over `width` neighboring threads, a constant power of two; every thread of the block
 *        takes part and every thread gets the result. n is the number of a scratch array of the
 *        kernel, not to be used again before the next BARRIER() or the next GROUP macro with
 *        another one; it is not used if SUBGROUP >= width.
 *   BLOCK_SUM(x, n) BLOCK_MAX(x, n)       floats of all threads, whose number is a power of
 *        two; the array may be used again at once
 *   SUBGROUP                              threads that can shuffle, 1 in OpenCL; if it is more:
 *   SUBGROUP_SUM(x) SUBGROUP_MAX(x) SHUFFLE_XOR(x, mask)      floats; all threads must take part
 */

/* Defines the macros. */
void source_prelude(struct buffer *out, const struct device_capabilities *device);
/* SUBGROUP. */
unsigned source_subgroup(const struct device_capabilities *device);

/* A buffer of a kernel, in the body a pointer called `name` to float (f32), UINT16 (f16, bf16), int
 * (i32) or UCHAR (u8 and quantized types). */
struct source_parameter {
    const char *name;
    enum ridge_dtype dtype;
    bool stored;   /* written; else const */
    bool no_alias; /* no other buffer of the launch overlaps it */
};

struct source_kernel {
    const char *name;
    const struct source_parameter *buffers;
    unsigned buffer_count, scalar_count;
    unsigned threads;         /* of a block, all along x */
    unsigned blocks_per_unit; /* that should fit into a compute unit; 0: as the compiler likes */
    bool dynamic_shared;      /* kernel_code.shared_max must be more than 0 then */
    unsigned cluster;         /* CUDA: neighboring blocks that read each other's shared memory */
    unsigned scratch_words;   /* of each scratch array for the GROUP and BLOCK macros; 0: none */
    unsigned scratch_arrays;  /* 1 or 2 */
};

/* Writes everything from the type of the scalars to the declarations of shared arrays; the caller
 * writes these, then source_kernel_body(), statements and the closing brace. One kernel per
 * source. */
void source_kernel_begin(struct buffer *out, const struct device_capabilities *device,
                         const struct source_kernel *kernel);
void source_kernel_body(struct buffer *out, const struct device_capabilities *device,
                        const struct source_kernel *kernel);

/* random_bits() of gen/random.h. */
void source_random_bits(struct buffer *out);

/* "float", "UINT16", "int" or "UCHAR". */
const char *source_storage(enum ridge_dtype dtype);

#endif
