/* The device attributes that the probe queries, one row each; tests/abi checks the numbers against
 * the vendor's header.
 */
#ifndef RIDGE_ABI_CUDA_ATTRIBUTES_H
#define RIDGE_ABI_CUDA_ATTRIBUTES_H

/* X(member of struct spool_device, the vendor's name, number) */
#define CUDA_DEVICE_NUMBERS(X)                                                                     \
    X(warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10)                                                     \
    X(clock_khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                                               \
    X(multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                               \
    X(threads_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)          \
    X(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                     \
    X(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                     \
    X(shared_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)     \
    X(registers_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82)      \
    X(blocks_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 106)           \
    X(shared_per_block_reserved, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 111)

enum { CUDA_MEMORY_CLOCK_KHZ = 36, CUDA_MEMORY_BUS_BITS = 37 };

#endif
