// A pass over memory in words of 16 bytes. UNROLL_WORDS words are at i, i + step, ...; READS and
// WRITES select what is done with them.

// section: macros
#ifdef __CUDACC__
INLINE WORDS4 load_past(CONST_POINTER(UCHAR) p) {
    WORDS4 w;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "l"(p));
    return w;
}
#else
#define load_past(p) LOAD16(p)
#endif

// section: body
const INT64 step = scalars.v[2];
#if WRITES && !READS
WORDS4 value = MAKE_WORDS4(THREAD_X + 1, BLOCK_X, 0x9e3779b9u, 77u);
#endif
#if READS && !WRITES
WORDS4 s = MAKE_WORDS4(0, 0, 0, 0);
#endif
for (INT64 turn = 0; turn < scalars.v[3]; turn++) {
    INT64 block = (BLOCK_X + turn * scalars.v[5]) % GRID_X;
    INT64 end = scalars.v[0] + block * scalars.v[4];
    for (INT64 i = block * scalars.v[1] + THREAD_X; i < end; i += UNROLL_WORDS * step) {
#if READS
        WORDS4 w[UNROLL_WORDS];
        UNROLL for (int k = 0; k < UNROLL_WORDS; k++)
            w[k] = LOAD(AT(from, (i + k * step) * 16));
#endif
        UNROLL for (int k = 0; k < UNROLL_WORDS; k++) {
#if READS && WRITES
            STORE16(AT(to, (i + k * step) * 16), w[k]);
#elif WRITES
            STORE16(AT(to, (i + k * step) * 16), value);
#else
            s.x ^= w[k].x, s.y ^= w[k].y, s.z ^= w[k].z, s.w ^= w[k].w;
#endif
        }
    }
}
#if READS && !WRITES
// Never true for the buffer's content, which the compiler does not know.
if ((s.x ^ s.y ^ s.z ^ s.w) == 0x5bd1e995u)
    STORE_U8(to, THREAD_X, s.x);
#endif
