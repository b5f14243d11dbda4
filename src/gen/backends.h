/* The two backends behind kernel.h: source text and native functions. Each has one function per
 * family; kernel.c selects by the device's language. */
#ifndef RIDGE_GEN_BACKENDS_H
#define RIDGE_GEN_BACKENDS_H

#include "gen/kernel.h"

/* The functions that each backend defines, with the same meaning as in kernel.h. */
#define KERNEL_BACKEND(prefix)                                                                     \
    bool prefix##_program(const struct program *, const struct program_shape *,                    \
                          const struct device_capabilities *, struct kernel_request *,             \
                          struct status *);                                                        \
    bool prefix##_matmul(const struct matmul_work *, const struct device_capabilities *,           \
                         struct kernel_request *, struct status *);                                \
    bool prefix##_generate_values(const struct generate_work *,                                    \
                                  const struct device_capabilities *, struct kernel_request *,     \
                                  struct status *);                                                \
    bool prefix##_embedding(const struct embedding_work *, const struct device_capabilities *,     \
                            struct kernel_request *, struct status *);                             \
    bool prefix##_rope(const struct rope_work *, const struct device_capabilities *,               \
                       struct kernel_request *, struct status *);                                  \
    bool prefix##_attention(const struct attention_work *, const struct device_capabilities *,     \
                            struct kernel_request *, struct status *);                             \
    bool prefix##_wkv7(const struct wkv7_work *, const struct device_capabilities *,               \
                       struct kernel_request *, struct status *);                                  \
    bool prefix##_quantize(const struct quantize_work *, const struct device_capabilities *,       \
                           struct kernel_request *, struct status *);                              \
    bool prefix##_dequantize(const struct quantize_work *, const struct device_capabilities *,     \
                             struct kernel_request *, struct status *);                            \
    bool prefix##_portable(const struct portable_work *, const struct device_capabilities *,       \
                           struct kernel_request *, struct status *);                              \
    /* Code of the specification, one function per family as well. */                              \
    bool prefix##_program_code(const struct kernel_spec *, const struct device_capabilities *,     \
                               struct kernel_generated *, struct status *);                        \
    bool prefix##_matmul_code(const struct kernel_spec *, const struct device_capabilities *,      \
                              struct kernel_generated *, struct status *);                         \
    bool prefix##_generate_values_code(const struct kernel_spec *,                                 \
                                       const struct device_capabilities *,                         \
                                       struct kernel_generated *, struct status *);                \
    bool prefix##_embedding_code(const struct kernel_spec *, const struct device_capabilities *,   \
                                 struct kernel_generated *, struct status *);                      \
    bool prefix##_rope_code(const struct kernel_spec *, const struct device_capabilities *,        \
                            struct kernel_generated *, struct status *);                           \
    bool prefix##_attention_code(const struct kernel_spec *, const struct device_capabilities *,   \
                                 struct kernel_generated *, struct status *);                      \
    bool prefix##_wkv7_code(const struct kernel_spec *, const struct device_capabilities *,        \
                            struct kernel_generated *, struct status *);                           \
    bool prefix##_quantize_code(const struct kernel_spec *, const struct device_capabilities *,    \
                                struct kernel_generated *, struct status *);                       \
    bool prefix##_dequantize_code(const struct kernel_spec *, const struct device_capabilities *,  \
                                  struct kernel_generated *, struct status *);                     \
    bool prefix##_portable_code(const struct kernel_spec *, const struct device_capabilities *,    \
                                struct kernel_generated *, struct status *);

KERNEL_BACKEND(native)
KERNEL_BACKEND(source)

/* These have no native kernels. */
bool source_dual_gemm(const struct dual_gemm_work *, const struct device_capabilities *,
                      struct kernel_request *, struct status *);
bool source_dual_gemm_code(const struct kernel_spec *, const struct device_capabilities *,
                           struct kernel_generated *, struct status *);

#endif
