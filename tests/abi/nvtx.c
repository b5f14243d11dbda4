/* src/abi/nvtx.h against NVTX's own headers. */
#include <stdio.h>

#include "abi/nvtx.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
#define SAME_PLACE(ours, theirs)                                                                   \
    _Static_assert(offsetof(struct nvtx_attributes, ours) ==                                       \
                           offsetof(nvtxEventAttributes_t, theirs) &&                              \
                       sizeof(((struct nvtx_attributes *)0)->ours) ==                              \
                           sizeof(((nvtxEventAttributes_t *)0)->theirs),                           \
                   #theirs)

SAME(NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_TABLE_VERSION, NVTX_ETID_VERSIONINFO);
SAME(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(NVTX_MARK_EX, NVTX_CBID_CORE_MarkEx);
SAME(NVTX_MARK_A, NVTX_CBID_CORE_MarkA);
SAME(NVTX_MARK_W, NVTX_CBID_CORE_MarkW);
SAME(NVTX_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(NVTX_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(NVTX_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(NVTX_RANGE_END, NVTX_CBID_CORE_RangeEnd);
SAME(NVTX_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(NVTX_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(NVTX_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(NVTX_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(NVTX_NAME_CATEGORY_A, NVTX_CBID_CORE_NameCategoryA);
SAME(NVTX_NAME_CATEGORY_W, NVTX_CBID_CORE_NameCategoryW);
SAME(NVTX_NAME_THREAD_A, NVTX_CBID_CORE_NameOsThreadA);
SAME(NVTX_NAME_THREAD_W, NVTX_CBID_CORE_NameOsThreadW);
SAME(NVTX_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
SAME(NVTX_DOMAIN_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(NVTX_DOMAIN_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(NVTX_DOMAIN_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(NVTX_DOMAIN_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(NVTX_DOMAIN_RESOURCE_CREATE, NVTX_CBID_CORE2_DomainResourceCreate);
SAME(NVTX_DOMAIN_RESOURCE_DESTROY, NVTX_CBID_CORE2_DomainResourceDestroy);
SAME(NVTX_DOMAIN_NAME_CATEGORY_A, NVTX_CBID_CORE2_DomainNameCategoryA);
SAME(NVTX_DOMAIN_NAME_CATEGORY_W, NVTX_CBID_CORE2_DomainNameCategoryW);
SAME(NVTX_DOMAIN_REGISTER_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(NVTX_DOMAIN_REGISTER_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(NVTX_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(NVTX_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
SAME(NVTX_DOMAIN_DESTROY, NVTX_CBID_CORE2_DomainDestroy);
SAME(NVTX_INITIALIZE, NVTX_CBID_CORE2_Initialize);
SAME(NVTX_COLOUR_ARGB, NVTX_COLOR_ARGB);
SAME(NVTX_PAYLOAD_U64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(NVTX_PAYLOAD_I64, NVTX_PAYLOAD_TYPE_INT64);
SAME(NVTX_PAYLOAD_F64, NVTX_PAYLOAD_TYPE_DOUBLE);
SAME(NVTX_PAYLOAD_U32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
SAME(NVTX_PAYLOAD_I32, NVTX_PAYLOAD_TYPE_INT32);
SAME(NVTX_PAYLOAD_F32, NVTX_PAYLOAD_TYPE_FLOAT);
SAME(NVTX_MESSAGE_A, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_MESSAGE_W, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(NVTX_NO_TRACKING, NVTX_NO_PUSH_POP_TRACKING);
SAME(sizeof(struct nvtx_attributes), sizeof(nvtxEventAttributes_t));
SAME(sizeof(struct nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(offsetof(struct nvtx_callbacks, module_table),
     offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(sizeof(struct nvtx_version), sizeof(NvtxExportTableVersionInfo));
SAME(offsetof(struct nvtx_version, set_tool_version),
     offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));
SAME(sizeof(uint64_t), sizeof(nvtxRangeId_t));
SAME_PLACE(version, version);
SAME_PLACE(size, size);
SAME_PLACE(category, category);
SAME_PLACE(color_type, colorType);
SAME_PLACE(color, color);
SAME_PLACE(payload_type, payloadType);
SAME_PLACE(payload, payload);
SAME_PLACE(message_type, messageType);
SAME_PLACE(message, message);

int main(void) {
    return 0;
}
#else
int main(void) {
    printf("SKIP NVTX's headers are not here\n");
    return 77;
}
#endif
