/* The CUPTI functions that ridge uses, one row each.
 *
 * X(name, parameters): the vendor's name, with the parameters in the types of cupti.h. This table
 * generates the struct of function pointers (cupti_library.h), its loading, the fake of the tests
 * and the check of every prototype against the vendor's headers (tests/abi).
 */
#ifndef RIDGE_ABI_CUPTI_SYMBOLS_H
#define RIDGE_ABI_CUPTI_SYMBOLS_H

/* All return cupti_result. */
#define CUPTI_SYMBOLS(X)                                                                           \
    X(cuptiGetVersion, (uint32_t *))                                                               \
    X(cuptiGetResultString, (cupti_result, const char **))                                         \
    X(cuptiSubscribe, (cupti_subscriber *, cupti_callback *, void *))                              \
    X(cuptiUnsubscribe, (cupti_subscriber))                                                        \
    X(cuptiEnableDomain, (uint32_t, cupti_subscriber, cupti_choice))                               \
    X(cuptiEnableCallback, (uint32_t, cupti_subscriber, cupti_choice, uint32_t))                   \
    X(cuptiActivitySetAttribute, (cupti_choice, size_t *, void *))                                 \
    X(cuptiActivityRegisterTimestampCallback, (cupti_clock *))                                     \
    X(cuptiActivityRegisterCallbacks, (cupti_buffer_requested *, cupti_buffer_completed *))        \
    X(cuptiActivityEnable, (cupti_choice))                                                         \
    X(cuptiActivityDisable, (cupti_choice))                                                        \
    X(cuptiActivityFlushAll, (uint32_t))                                                           \
    X(cuptiActivityGetNextRecord, (uint8_t *, size_t, void **))                                    \
    X(cuptiActivityGetNumDroppedRecords, (struct CUctx_st *, uint32_t, size_t *))                  \
    X(cuptiGetDeviceId, (struct CUctx_st *, uint32_t *))                                           \
    X(cuptiGetContextId, (struct CUctx_st *, uint32_t *))                                          \
    X(cuptiGetStreamIdEx, (struct CUctx_st *, struct CUstream_st *, uint8_t, uint32_t *))          \
    X(cuptiGetGraphId, (struct CUgraph_st *, uint32_t *))                                          \
    X(cuptiGetGraphNodeId, (struct CUgraphNode_st *, uint64_t *))                                  \
    X(cuptiFinalize, (void))

#endif
