/* The recorded driver and runtime functions with their CUPTI callback ids: functions that launch
 * work, synchronize, allocate, load modules, or record and wait for events. Queries are not
 * recorded.
 *
 * X(name, suffix, number, what): the documented name, the suffix of its enumerator, the callback
 * id, and its purpose: CUPTI_CALL_what is its call class, CUPTI_ORDER_what how it orders queues.
 * Callback ids never change; each major version that added functions has its own table. tests/abi
 * checks them against the vendor's headers.
 */
#ifndef RIDGE_ABI_CUPTI_FUNCTIONS_H
#define RIDGE_ABI_CUPTI_FUNCTIONS_H

#include "trace/schema.h"

/* clang-format off */
#define CUPTI_DRIVER_FUNCTIONS_11(X) \
    X(cuCtxSynchronize, , 17, CONTEXT_SYNC) \
    X(cuModuleLoad, , 18, COMPILE) \
    X(cuModuleLoadData, , 19, COMPILE) \
    X(cuModuleLoadDataEx, , 20, COMPILE) \
    X(cuModuleLoadFatBinary, , 21, COMPILE) \
    X(cuModuleUnload, , 22, COMPILE) \
    X(cuMemAlloc, , 29, ALLOC) \
    X(cuMemAllocPitch, , 31, ALLOC) \
    X(cuMemFree, , 33, ALLOC) \
    X(cuMemAllocHost, , 37, ALLOC) \
    X(cuMemFreeHost, , 38, ALLOC) \
    X(cuMemHostAlloc, , 39, ALLOC) \
    X(cuMemcpyHtoD, , 43, COPY) \
    X(cuMemcpyDtoH, , 45, COPY) \
    X(cuMemcpyDtoD, , 47, COPY) \
    X(cuMemcpyDtoA, , 49, COPY) \
    X(cuMemcpyAtoD, , 51, COPY) \
    X(cuMemcpyHtoA, , 53, COPY) \
    X(cuMemcpyAtoH, , 54, COPY) \
    X(cuMemcpyAtoA, , 55, COPY) \
    X(cuMemcpy2D, , 56, COPY) \
    X(cuMemcpy2DUnaligned, , 57, COPY) \
    X(cuMemcpy3D, , 58, COPY) \
    X(cuMemcpyHtoDAsync, , 60, COPY) \
    X(cuMemcpyDtoHAsync, , 62, COPY) \
    X(cuMemcpyDtoDAsync, , 64, COPY) \
    X(cuMemcpyHtoAAsync, , 66, COPY) \
    X(cuMemcpyAtoHAsync, , 67, COPY) \
    X(cuMemcpy2DAsync, , 68, COPY) \
    X(cuMemcpy3DAsync, , 69, COPY) \
    X(cuMemsetD8, , 71, COPY) \
    X(cuMemsetD16, , 73, COPY) \
    X(cuMemsetD32, , 75, COPY) \
    X(cuMemsetD2D8, , 77, COPY) \
    X(cuMemsetD2D16, , 79, COPY) \
    X(cuMemsetD2D32, , 81, COPY) \
    X(cuArrayCreate, , 87, ALLOC) \
    X(cuArrayDestroy, , 89, ALLOC) \
    X(cuLaunch, , 115, LAUNCH) \
    X(cuLaunchGrid, , 116, LAUNCH) \
    X(cuLaunchGridAsync, , 117, LAUNCH) \
    X(cuEventRecord, , 119, EVENT_RECORD) \
    X(cuEventSynchronize, , 121, EVENT_SYNC) \
    X(cuStreamSynchronize, , 126, STREAM_SYNC) \
    X(cuMemsetD8Async, , 216, COPY) \
    X(cuMemsetD16Async, , 218, COPY) \
    X(cuMemsetD32Async, , 220, COPY) \
    X(cuMemsetD2D8Async, , 222, COPY) \
    X(cuMemsetD2D16Async, , 224, COPY) \
    X(cuMemsetD2D32Async, , 226, COPY) \
    X(cuMemAlloc, _v2, 243, ALLOC) \
    X(cuMemAllocPitch, _v2, 244, ALLOC) \
    X(cuMemFree, _v2, 245, ALLOC) \
    X(cuMemcpy, _v2, 248, COPY) \
    X(cuMemsetD8, _v2, 249, COPY) \
    X(cuMemsetD16, _v2, 250, COPY) \
    X(cuMemsetD32, _v2, 251, COPY) \
    X(cuMemsetD2D8, _v2, 252, COPY) \
    X(cuMemsetD2D16, _v2, 253, COPY) \
    X(cuMemsetD2D32, _v2, 254, COPY) \
    X(cuMemHostAlloc, _v2, 271, ALLOC) \
    X(cuArrayCreate, _v2, 272, ALLOC) \
    X(cuMemcpyHtoD, _v2, 276, COPY) \
    X(cuMemcpyHtoDAsync, _v2, 277, COPY) \
    X(cuMemcpyDtoH, _v2, 278, COPY) \
    X(cuMemcpyDtoHAsync, _v2, 279, COPY) \
    X(cuMemcpyDtoD, _v2, 280, COPY) \
    X(cuMemcpyDtoDAsync, _v2, 281, COPY) \
    X(cuMemcpyAtoH, _v2, 282, COPY) \
    X(cuMemcpyAtoHAsync, _v2, 283, COPY) \
    X(cuMemcpyAtoD, _v2, 284, COPY) \
    X(cuMemcpyDtoA, _v2, 285, COPY) \
    X(cuMemcpyAtoA, _v2, 286, COPY) \
    X(cuMemcpy2D, _v2, 287, COPY) \
    X(cuMemcpy2DUnaligned, _v2, 288, COPY) \
    X(cuMemcpy2DAsync, _v2, 289, COPY) \
    X(cuMemcpy3D, _v2, 290, COPY) \
    X(cuMemcpy3DAsync, _v2, 291, COPY) \
    X(cuMemcpyHtoA, _v2, 292, COPY) \
    X(cuMemcpyHtoAAsync, _v2, 293, COPY) \
    X(cuMemAllocHost, _v2, 294, ALLOC) \
    X(cuStreamWaitEvent, , 295, STREAM_WAIT) \
    X(cuMemHostRegister, , 301, ALLOC) \
    X(cuMemHostUnregister, , 302, ALLOC) \
    X(cuMemcpy, , 305, COPY) \
    X(cuMemcpyAsync, , 306, COPY) \
    X(cuLaunchKernel, , 307, LAUNCH) \
    X(cuProfilerStart, , 308, OTHER) \
    X(cuProfilerStop, , 309, OTHER) \
    X(cuMemcpyPeer, , 318, COPY) \
    X(cuMemcpyPeerAsync, , 319, COPY) \
    X(cuMemcpy3DPeer, , 320, COPY) \
    X(cuMemcpy3DPeerAsync, , 321, COPY) \
    X(cuLinkCreate, , 362, COMPILE) \
    X(cuLinkAddData, , 363, COMPILE) \
    X(cuLinkAddFile, , 364, COMPILE) \
    X(cuLinkComplete, , 365, COMPILE) \
    X(cuMemAllocManaged, , 371, ALLOC) \
    X(cuMemHostRegister, _v2, 379, ALLOC) \
    X(cuLinkCreate, _v2, 381, COMPILE) \
    X(cuLinkAddData, _v2, 382, COMPILE) \
    X(cuLinkAddFile, _v2, 383, COMPILE) \
    X(cuMemcpyHtoD, _v2_ptds, 397, COPY) \
    X(cuMemcpyDtoH, _v2_ptds, 398, COPY) \
    X(cuMemcpyDtoD, _v2_ptds, 399, COPY) \
    X(cuMemcpyDtoA, _v2_ptds, 400, COPY) \
    X(cuMemcpyAtoD, _v2_ptds, 401, COPY) \
    X(cuMemcpyHtoA, _v2_ptds, 402, COPY) \
    X(cuMemcpyAtoH, _v2_ptds, 403, COPY) \
    X(cuMemcpyAtoA, _v2_ptds, 404, COPY) \
    X(cuMemcpy2D, _v2_ptds, 405, COPY) \
    X(cuMemcpy2DUnaligned, _v2_ptds, 406, COPY) \
    X(cuMemcpy3D, _v2_ptds, 407, COPY) \
    X(cuMemcpy, _ptds, 408, COPY) \
    X(cuMemcpyPeer, _ptds, 409, COPY) \
    X(cuMemcpy3DPeer, _ptds, 410, COPY) \
    X(cuMemsetD8, _v2_ptds, 411, COPY) \
    X(cuMemsetD16, _v2_ptds, 412, COPY) \
    X(cuMemsetD32, _v2_ptds, 413, COPY) \
    X(cuMemsetD2D8, _v2_ptds, 414, COPY) \
    X(cuMemsetD2D16, _v2_ptds, 415, COPY) \
    X(cuMemsetD2D32, _v2_ptds, 416, COPY) \
    X(cuMemcpyAsync, _ptsz, 418, COPY) \
    X(cuMemcpyHtoAAsync, _v2_ptsz, 419, COPY) \
    X(cuMemcpyAtoHAsync, _v2_ptsz, 420, COPY) \
    X(cuMemcpyHtoDAsync, _v2_ptsz, 421, COPY) \
    X(cuMemcpyDtoHAsync, _v2_ptsz, 422, COPY) \
    X(cuMemcpyDtoDAsync, _v2_ptsz, 423, COPY) \
    X(cuMemcpy2DAsync, _v2_ptsz, 424, COPY) \
    X(cuMemcpy3DAsync, _v2_ptsz, 425, COPY) \
    X(cuMemcpyPeerAsync, _ptsz, 426, COPY) \
    X(cuMemcpy3DPeerAsync, _ptsz, 427, COPY) \
    X(cuMemsetD8Async, _ptsz, 428, COPY) \
    X(cuMemsetD16Async, _ptsz, 429, COPY) \
    X(cuMemsetD32Async, _ptsz, 430, COPY) \
    X(cuMemsetD2D8Async, _ptsz, 431, COPY) \
    X(cuMemsetD2D16Async, _ptsz, 432, COPY) \
    X(cuMemsetD2D32Async, _ptsz, 433, COPY) \
    X(cuStreamWaitEvent, _ptsz, 436, STREAM_WAIT) \
    X(cuStreamSynchronize, _ptsz, 440, STREAM_SYNC) \
    X(cuEventRecord, _ptsz, 441, EVENT_RECORD) \
    X(cuLaunchKernel, _ptsz, 442, LAUNCH) \
    X(cuMemPrefetchAsync, , 467, COPY) \
    X(cuMemPrefetchAsync, _ptsz, 468, COPY) \
    X(cuLaunchCooperativeKernel, , 477, LAUNCH) \
    X(cuLaunchCooperativeKernel, _ptsz, 478, LAUNCH) \
    X(cuLaunchCooperativeKernelMultiDevice, , 480, LAUNCH) \
    X(cuGraphInstantiate, , 513, COMPILE) \
    X(cuGraphLaunch, , 514, LAUNCH) \
    X(cuGraphLaunch, _ptsz, 515, LAUNCH) \
    X(cuMemCreate, , 549, ALLOC) \
    X(cuMemRelease, , 550, ALLOC) \
    X(cuMemMap, , 551, ALLOC) \
    X(cuMemUnmap, , 552, ALLOC) \
    X(cuMemSetAccess, , 553, ALLOC) \
    X(cuGraphInstantiate, _v2, 578, COMPILE) \
    X(cuEventRecordWithFlags, , 587, EVENT_RECORD) \
    X(cuEventRecordWithFlags, _ptsz, 588, EVENT_RECORD) \
    X(cuMemAllocAsync, , 598, ALLOC) \
    X(cuMemAllocAsync, _ptsz, 599, ALLOC) \
    X(cuMemFreeAsync, , 600, ALLOC) \
    X(cuMemFreeAsync, _ptsz, 601, ALLOC) \
    X(cuMemPoolTrimTo, , 602, ALLOC) \
    X(cuMemPoolCreate, , 607, ALLOC) \
    X(cuMemPoolDestroy, , 608, ALLOC) \
    X(cuMemAllocFromPoolAsync, , 611, ALLOC) \
    X(cuMemAllocFromPoolAsync, _ptsz, 612, ALLOC) \
    X(cuGraphInstantiateWithFlags, , 643, COMPILE) \
    X(cuLaunchKernelEx, , 652, LAUNCH) \
    X(cuLaunchKernelEx, _ptsz, 653, LAUNCH) \
    X(cuGraphInstantiateWithParams, , 656, COMPILE) \
    X(cuGraphInstantiateWithParams, _ptsz, 657, COMPILE)

#define CUPTI_DRIVER_FUNCTIONS_12(X) \
    X(cuLibraryLoadData, , 678, COMPILE) \
    X(cuLibraryLoadFromFile, , 679, COMPILE) \
    X(cuLibraryUnload, , 680, COMPILE) \
    X(cuMemPrefetchAsync, _v2, 716, COPY) \
    X(cuMemPrefetchAsync, _v2_ptsz, 717, COPY) \
    X(cuMemcpyBatchAsync, , 776, COPY) \
    X(cuMemcpyBatchAsync, _ptsz, 777, COPY) \
    X(cuMemcpy3DBatchAsync, , 778, COPY) \
    X(cuMemcpy3DBatchAsync, _ptsz, 779, COPY)

#define CUPTI_DRIVER_FUNCTIONS_13(X) \
    X(cuMemPrefetchBatchAsync, , 784, COPY) \
    X(cuMemPrefetchBatchAsync, _ptsz, 785, COPY) \
    X(cuMemcpyBatchAsync, _v2, 796, COPY) \
    X(cuMemcpyBatchAsync, _v2_ptsz, 797, COPY) \
    X(cuMemcpy3DBatchAsync, _v2, 798, COPY) \
    X(cuMemcpy3DBatchAsync, _v2_ptsz, 799, COPY) \
    X(cuCtxSynchronize, _v2, 800, CONTEXT_SYNC) \
    X(cuMemcpyWithAttributesAsync, , 837, COPY) \
    X(cuMemcpyWithAttributesAsync, _ptsz, 838, COPY) \
    X(cuMemcpy3DWithAttributesAsync, , 839, COPY) \
    X(cuMemcpy3DWithAttributesAsync, _ptsz, 840, COPY)

#define CUPTI_RUNTIME_FUNCTIONS_11(X) \
    X(cudaLaunch, _v3020, 13, LAUNCH) \
    X(cudaMalloc, _v3020, 20, ALLOC) \
    X(cudaMallocPitch, _v3020, 21, ALLOC) \
    X(cudaFree, _v3020, 22, ALLOC) \
    X(cudaMallocArray, _v3020, 23, ALLOC) \
    X(cudaFreeArray, _v3020, 24, ALLOC) \
    X(cudaMallocHost, _v3020, 25, ALLOC) \
    X(cudaFreeHost, _v3020, 26, ALLOC) \
    X(cudaHostAlloc, _v3020, 27, ALLOC) \
    X(cudaMemcpy, _v3020, 31, COPY) \
    X(cudaMemcpy2D, _v3020, 32, COPY) \
    X(cudaMemcpyToArray, _v3020, 33, COPY) \
    X(cudaMemcpy2DToArray, _v3020, 34, COPY) \
    X(cudaMemcpyFromArray, _v3020, 35, COPY) \
    X(cudaMemcpy2DFromArray, _v3020, 36, COPY) \
    X(cudaMemcpyArrayToArray, _v3020, 37, COPY) \
    X(cudaMemcpy2DArrayToArray, _v3020, 38, COPY) \
    X(cudaMemcpyToSymbol, _v3020, 39, COPY) \
    X(cudaMemcpyFromSymbol, _v3020, 40, COPY) \
    X(cudaMemcpyAsync, _v3020, 41, COPY) \
    X(cudaMemcpyToArrayAsync, _v3020, 42, COPY) \
    X(cudaMemcpyFromArrayAsync, _v3020, 43, COPY) \
    X(cudaMemcpy2DAsync, _v3020, 44, COPY) \
    X(cudaMemcpy2DToArrayAsync, _v3020, 45, COPY) \
    X(cudaMemcpy2DFromArrayAsync, _v3020, 46, COPY) \
    X(cudaMemcpyToSymbolAsync, _v3020, 47, COPY) \
    X(cudaMemcpyFromSymbolAsync, _v3020, 48, COPY) \
    X(cudaMemset, _v3020, 49, COPY) \
    X(cudaMemset2D, _v3020, 50, COPY) \
    X(cudaMemsetAsync, _v3020, 51, COPY) \
    X(cudaMemset2DAsync, _v3020, 52, COPY) \
    X(cudaThreadSynchronize, _v3020, 126, CONTEXT_SYNC) \
    X(cudaStreamSynchronize, _v3020, 131, STREAM_SYNC) \
    X(cudaEventRecord, _v3020, 135, EVENT_RECORD) \
    X(cudaEventSynchronize, _v3020, 137, EVENT_SYNC) \
    X(cudaMalloc3D, _v3020, 140, ALLOC) \
    X(cudaMalloc3DArray, _v3020, 141, ALLOC) \
    X(cudaMemset3D, _v3020, 142, COPY) \
    X(cudaMemset3DAsync, _v3020, 143, COPY) \
    X(cudaMemcpy3D, _v3020, 144, COPY) \
    X(cudaMemcpy3DAsync, _v3020, 145, COPY) \
    X(cudaStreamWaitEvent, _v3020, 147, STREAM_WAIT) \
    X(cudaHostRegister, _v4000, 152, ALLOC) \
    X(cudaHostUnregister, _v4000, 153, ALLOC) \
    X(cudaMemcpyPeer, _v4000, 160, COPY) \
    X(cudaMemcpyPeerAsync, _v4000, 161, COPY) \
    X(cudaMemcpy3DPeer, _v4000, 162, COPY) \
    X(cudaMemcpy3DPeerAsync, _v4000, 163, COPY) \
    X(cudaDeviceSynchronize, _v3020, 165, CONTEXT_SYNC) \
    X(cudaProfilerStart, _v4000, 171, OTHER) \
    X(cudaProfilerStop, _v4000, 172, OTHER) \
    X(cudaMallocMipmappedArray, _v5000, 192, ALLOC) \
    X(cudaFreeMipmappedArray, _v5000, 194, ALLOC) \
    X(cudaMallocManaged, _v6000, 206, ALLOC) \
    X(cudaLaunchKernel, _v7000, 211, LAUNCH) \
    X(cudaLaunch, _ptsz_v7000, 213, LAUNCH) \
    X(cudaLaunchKernel, _ptsz_v7000, 214, LAUNCH) \
    X(cudaMemcpy, _ptds_v7000, 215, COPY) \
    X(cudaMemcpy2D, _ptds_v7000, 216, COPY) \
    X(cudaMemcpyToArray, _ptds_v7000, 217, COPY) \
    X(cudaMemcpy2DToArray, _ptds_v7000, 218, COPY) \
    X(cudaMemcpyFromArray, _ptds_v7000, 219, COPY) \
    X(cudaMemcpy2DFromArray, _ptds_v7000, 220, COPY) \
    X(cudaMemcpyArrayToArray, _ptds_v7000, 221, COPY) \
    X(cudaMemcpy2DArrayToArray, _ptds_v7000, 222, COPY) \
    X(cudaMemcpyToSymbol, _ptds_v7000, 223, COPY) \
    X(cudaMemcpyFromSymbol, _ptds_v7000, 224, COPY) \
    X(cudaMemcpyAsync, _ptsz_v7000, 225, COPY) \
    X(cudaMemcpyToArrayAsync, _ptsz_v7000, 226, COPY) \
    X(cudaMemcpyFromArrayAsync, _ptsz_v7000, 227, COPY) \
    X(cudaMemcpy2DAsync, _ptsz_v7000, 228, COPY) \
    X(cudaMemcpy2DToArrayAsync, _ptsz_v7000, 229, COPY) \
    X(cudaMemcpy2DFromArrayAsync, _ptsz_v7000, 230, COPY) \
    X(cudaMemcpyToSymbolAsync, _ptsz_v7000, 231, COPY) \
    X(cudaMemcpyFromSymbolAsync, _ptsz_v7000, 232, COPY) \
    X(cudaMemset, _ptds_v7000, 233, COPY) \
    X(cudaMemset2D, _ptds_v7000, 234, COPY) \
    X(cudaMemsetAsync, _ptsz_v7000, 235, COPY) \
    X(cudaMemset2DAsync, _ptsz_v7000, 236, COPY) \
    X(cudaStreamSynchronize, _ptsz_v7000, 239, STREAM_SYNC) \
    X(cudaEventRecord, _ptsz_v7000, 242, EVENT_RECORD) \
    X(cudaMemset3D, _ptds_v7000, 243, COPY) \
    X(cudaMemset3DAsync, _ptsz_v7000, 244, COPY) \
    X(cudaMemcpy3D, _ptds_v7000, 245, COPY) \
    X(cudaMemcpy3DAsync, _ptsz_v7000, 246, COPY) \
    X(cudaStreamWaitEvent, _ptsz_v7000, 247, STREAM_WAIT) \
    X(cudaMemcpy3DPeer, _ptds_v7000, 249, COPY) \
    X(cudaMemcpy3DPeerAsync, _ptsz_v7000, 250, COPY) \
    X(cudaMemPrefetchAsync, _v8000, 252, COPY) \
    X(cudaMemPrefetchAsync, _ptsz_v8000, 253, COPY) \
    X(cudaLaunchCooperativeKernel, _v9000, 269, LAUNCH) \
    X(cudaLaunchCooperativeKernel, _ptsz_v9000, 270, LAUNCH) \
    X(cudaLaunchCooperativeKernelMultiDevice, _v9000, 272, LAUNCH) \
    X(cudaGraphInstantiate, _v10000, 310, COMPILE) \
    X(cudaGraphLaunch, _v10000, 311, LAUNCH) \
    X(cudaGraphLaunch, _ptsz_v10000, 312, LAUNCH) \
    X(cudaEventRecordWithFlags, _v11010, 370, EVENT_RECORD) \
    X(cudaEventRecordWithFlags, _ptsz_v11010, 371, EVENT_RECORD) \
    X(cudaMallocAsync, _v11020, 373, ALLOC) \
    X(cudaMallocAsync, _ptsz_v11020, 374, ALLOC) \
    X(cudaFreeAsync, _v11020, 375, ALLOC) \
    X(cudaFreeAsync, _ptsz_v11020, 376, ALLOC) \
    X(cudaMemPoolTrimTo, _v11020, 377, ALLOC) \
    X(cudaMemPoolCreate, _v11020, 383, ALLOC) \
    X(cudaMemPoolDestroy, _v11020, 384, ALLOC) \
    X(cudaMallocFromPoolAsync, _v11020, 391, ALLOC) \
    X(cudaMallocFromPoolAsync, _ptsz_v11020, 392, ALLOC) \
    X(cudaGraphInstantiateWithFlags, _v11040, 418, COMPILE) \
    X(cudaLaunchKernelExC, _v11060, 430, LAUNCH) \
    X(cudaLaunchKernelExC, _ptsz_v11060, 431, LAUNCH)

#define CUPTI_RUNTIME_FUNCTIONS_12(X) \
    X(cudaGraphInstantiateWithParams, _v12000, 436, COMPILE) \
    X(cudaGraphInstantiateWithParams, _ptsz_v12000, 437, COMPILE) \
    X(cudaGraphInstantiate, _v12000, 443, COMPILE) \
    X(cudaLibraryLoadData, _v12060, 470, COMPILE) \
    X(cudaLibraryLoadFromFile, _v12060, 471, COMPILE) \
    X(cudaLibraryUnload, _v12060, 472, COMPILE) \
    X(cudaMemcpyBatchAsync, _v12080, 482, COPY) \
    X(cudaMemcpyBatchAsync, _ptsz_v12080, 483, COPY) \
    X(cudaMemcpy3DBatchAsync, _v12080, 484, COPY) \
    X(cudaMemcpy3DBatchAsync, _ptsz_v12080, 485, COPY)

#define CUPTI_RUNTIME_FUNCTIONS_13(X) \
    X(cudaMemPrefetchAsync, _v12020, 449, COPY) \
    X(cudaMemPrefetchAsync, _ptsz_v12020, 450, COPY) \
    X(cudaMemPrefetchBatchAsync, _v13000, 487, COPY) \
    X(cudaMemPrefetchBatchAsync, _ptsz_v13000, 488, COPY) \
    X(__cudaLaunchKernel, _v13000, 505, LAUNCH) \
    X(__cudaLaunchKernel, _ptsz_v13000, 506, LAUNCH) \
    X(cudaMemcpyBatchAsync, _v13000, 509, COPY) \
    X(cudaMemcpyBatchAsync, _ptsz_v13000, 510, COPY) \
    X(cudaMemcpy3DBatchAsync, _v13000, 511, COPY) \
    X(cudaMemcpy3DBatchAsync, _ptsz_v13000, 512, COPY) \
    X(cudaExecutionCtxSynchronize, _v13010, 534, CONTEXT_SYNC) \
    X(cudaMemcpyWithAttributesAsync, _v13020, 554, COPY) \
    X(cudaMemcpyWithAttributesAsync, _ptsz_v13020, 555, COPY) \
    X(cudaMemcpy3DWithAttributesAsync, _v13020, 556, COPY) \
    X(cudaMemcpy3DWithAttributesAsync, _ptsz_v13020, 557, COPY)
/* clang-format on */

#define CUPTI_DRIVER_FUNCTIONS(X)                                                                  \
    CUPTI_DRIVER_FUNCTIONS_11(X) CUPTI_DRIVER_FUNCTIONS_12(X) CUPTI_DRIVER_FUNCTIONS_13(X)
#define CUPTI_RUNTIME_FUNCTIONS(X)                                                                 \
    CUPTI_RUNTIME_FUNCTIONS_11(X) CUPTI_RUNTIME_FUNCTIONS_12(X) CUPTI_RUNTIME_FUNCTIONS_13(X)

/* cudaProfilerStart() and cudaProfilerStop(). */
enum {
    CUPTI_DRIVER_PROFILER_START = 308,
    CUPTI_DRIVER_PROFILER_STOP = 309,
    CUPTI_RUNTIME_PROFILER_START = 171,
    CUPTI_RUNTIME_PROFILER_STOP = 172
};

enum { CUPTI_FUNCTIONS_MAX = 1024 }; /* all numbers are smaller */

/* The class of each `what`: an enum call_class. */
enum {
    CUPTI_CALL_OTHER = CALL_OTHER,
    CUPTI_CALL_LAUNCH = CALL_LAUNCH,
    CUPTI_CALL_COPY = CALL_COPY,
    CUPTI_CALL_ALLOC = CALL_ALLOC,
    CUPTI_CALL_COMPILE = CALL_COMPILE,
    CUPTI_CALL_EVENT_SYNC = CALL_SYNC,
    CUPTI_CALL_STREAM_SYNC = CALL_SYNC,
    CUPTI_CALL_CONTEXT_SYNC = CALL_SYNC,
    CUPTI_CALL_STREAM_WAIT = CALL_OTHER,
    CUPTI_CALL_EVENT_RECORD = CALL_OTHER
};

/* How it orders queues: an enum wait_kind, or CUPTI_ORDER_EVENT_RECORD. */
enum {
    CUPTI_ORDER_NONE = WAIT_UNKNOWN,
    CUPTI_ORDER_EVENT_SYNC = WAIT_EVENT,         /* the thread waits for an event */
    CUPTI_ORDER_STREAM_WAIT = WAIT_STREAM_EVENT, /* a queue waits for an event */
    CUPTI_ORDER_STREAM_SYNC = WAIT_STREAM,       /* the thread waits for a queue */
    CUPTI_ORDER_CONTEXT_SYNC = WAIT_CONTEXT,     /* the thread waits for all queues */
    CUPTI_ORDER_EVENT_RECORD = WAIT_KINDS,       /* an event captures a queue's position */
    CUPTI_ORDER_OTHER = CUPTI_ORDER_NONE,
    CUPTI_ORDER_LAUNCH = CUPTI_ORDER_NONE,
    CUPTI_ORDER_COPY = CUPTI_ORDER_NONE,
    CUPTI_ORDER_ALLOC = CUPTI_ORDER_NONE,
    CUPTI_ORDER_COMPILE = CUPTI_ORDER_NONE
};

#endif
