// CUDA's matrix units: tensor_multiply(), and loads of data that is read once. TENSOR_TYPE is the
// name of the half type in PTX.

#define TENSOR_OP "mma.sync.aligned.m16n8k16.row.col.f32." TENSOR_TYPE "." TENSOR_TYPE \
    ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
INLINE void tensor_multiply(float *sum, UINT32 a0, UINT32 a1, UINT32 a2, UINT32 a3,
                            UINT32 b0, UINT32 b1) {
    asm(TENSOR_OP "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
INLINE WORDS4 LOAD16_ONCE(const void *p) {
    WORDS4 w;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "l"(p));
    return w;
}
INLINE WORDS2 LOAD8_ONCE(const void *p) {
    WORDS2 w;
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
        : "=r"(w.x), "=r"(w.y) : "l"(p));
    return w;
}
INLINE UINT32 LOAD4_ONCE(const void *p) {
    UINT32 w;
    asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(w) : "l"(p));
    return w;
}

// section: staged
// Lane l has the address of line l % 8 of matrix l / 8; word i holds two elements of matrix i, of
// line (column, if transposed) lane / 4.
INLINE void LOAD_MATRICES(UINT32 *words, const UINT16 *line) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "r"((UINT32)__cvta_generic_to_shared(line)) : "memory");
}
INLINE void LOAD_MATRICES_TRANSPOSED(UINT32 *words, const UINT16 *line) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "r"((UINT32)__cvta_generic_to_shared(line)) : "memory");
}
// 16 aligned bytes to shared memory, zeros unless `inside`.
INLINE void COPY16_ASYNC(UINT16 *to, const UINT16 *from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
        :: "r"((UINT32)__cvta_generic_to_shared(to)), "l"(from), "r"(inside ? 16 : 0) : "memory");
}
INLINE void COPIES_COMMIT() { asm volatile("cp.async.commit_group;" ::: "memory"); }
#define COPIES_WAIT(groups) asm volatile("cp.async.wait_group %0;" :: "n"(groups) : "memory")
INLINE float EXP2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
