/* The parameters of gen/kernels/quantize_blocks.cl for each type that it makes.
 * X(NAME, kind, levels, weights of a part, multiples, weights of a block, bytes of a block) */
#ifndef RIDGE_GEN_QUANT_TYPES_H
#define RIDGE_GEN_QUANT_TYPES_H

#define QUANT_TYPES(X)                                                                             \
    X(Q4_0, SIGNED, 8, 32, 1, 32, 18)                                                              \
    X(Q4_1, AFFINE, 15, 32, 1, 32, 20)                                                             \
    X(Q5_0, SIGNED, 16, 32, 1, 32, 22)                                                             \
    X(Q5_1, AFFINE, 31, 32, 1, 32, 24)                                                             \
    X(Q2_K, PARTS, 3, 16, 15, 256, 84)                                                             \
    X(Q3_K, CENTERED, 4, 16, 32, 256, 110)                                                         \
    X(Q5_K, PARTS, 31, 32, 63, 256, 176)                                                           \
    X(Q6_K, CENTERED, 32, 16, 128, 256, 210)                                                       \
    X(IQ4_XS, CENTERED, 127, 32, 32, 256, 136)

#endif
