/* See communication.h. */
#include "analysis/communication.h"

#include <string.h>

#include "base/array.h"

/* Prefixes of identifiers in the names of communication kernels. */
static const char *const families[] = {
    /* NCCL and RCCL, which keeps NCCL's names */
    "ncclKernel",
    "ncclDevKernel",
    "ncclDevFunc",
    "ncclSymk",
    "ncclSymDevKernel",
    "rcclKernel",
    /* MSCCL, MSCCL++ */
    "mscclKernel",
    "mscclpp",
    /* oneCCL */
    "oneccl",
    "ccl_allreduce",
    "ccl_allgather",
    "ccl_alltoall",
    "ccl_reduce_scatter",
    "ccl_broadcast",
    /* NVSHMEM, DeepEP */
    "nvshmem",
    "deep_ep",
    /* vLLM, SGLang, TensorRT-LLM, FlashInfer, PyTorch's symmetric memory */
    "cross_device_reduce",
    "allreduce_prototype",
    "oneShotAllReduceKernel",
    "twoShotAllReduceKernel",
    "allreduce_fusion_kernel",
    "one_shot_all_reduce",
    "two_shot_all_reduce",
    "multimem_all_reduce",
    "multimem_one_shot",
    "multimem_all_gather",
};

static bool is_word(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_';
}

/* Whether an identifier starts at `at`. In a mangled name one also starts after a digit, its
 * length. */
static bool starts_identifier(struct text name, size_t at, bool mangled) {
    if (at == 0 || !is_word(name.data[at - 1]))
        return true;
    return mangled && name.data[at - 1] >= '0' && name.data[at - 1] <= '9';
}

/* Types of arguments, such as ncclDevComm, name the library of a helper too. */
static struct text without_arguments(struct text name) {
    for (size_t i = 1; i < name.length; i++)
        if (name.data[i] == '(' &&
            !text_starts((struct text){name.data + i, name.length - i}, "(anonymous"))
            return (struct text){name.data, i};
    return name;
}

bool kernel_communicates(struct text name) {
    bool mangled = text_starts(name, "_Z");
    struct text head = without_arguments(name);
    for (size_t i = 0; i < ARRAY_COUNT(families); i++) {
        ptrdiff_t found = text_find(head, families[i]);
        if (found >= 0 && starts_identifier(head, (size_t)found, mangled))
            return true;
    }
    return false;
}

/* The value after "key": in a flat object, without quotes; empty: absent. */
static struct text member(struct text detail, const char *key) {
    ptrdiff_t place = text_find(detail, key);
    if (place < 0)
        return (struct text){0};
    size_t at = (size_t)place + strlen(key), end;
    while (at < detail.length && (detail.data[at] == ':' || detail.data[at] == ' '))
        at++;
    bool quoted = at < detail.length && detail.data[at] == '"';
    at += quoted;
    for (end = at; end < detail.length; end++)
        if (quoted ? detail.data[end] == '"' : detail.data[end] == ',' || detail.data[end] == '}')
            break;
    return (struct text){detail.data + at, end - at};
}

/* Bytes of an element, by PyTorch's names; 0: unknown. */
static uint64_t type_size(struct text name) {
    static const struct {
        const char *name;
        uint64_t size;
    } types[] = {{"Float", 4},         {"Double", 8},       {"Half", 2},
                 {"BFloat16", 2},      {"Int", 4},          {"Long", 8},
                 {"Short", 2},         {"Char", 1},         {"Byte", 1},
                 {"Bool", 1},          {"ComplexFloat", 8}, {"ComplexDouble", 16},
                 {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
    for (size_t i = 0; i < ARRAY_COUNT(types); i++)
        if (text_is(name, types[i].name))
            return types[i].size;
    return 0;
}

static int64_t number(struct text detail, const char *key) {
    int64_t value;
    return text_to_i64(member(detail, key), &value) && value >= 0 ? value : -1;
}

/* Which group, which of its operations, and this rank's part in it. */
static void read_place(struct text detail, struct message *message) {
    message->group = member(detail, "\"Process Group Name\"");
    message->members = member(detail, "\"Process Group Ranks\"");
    (void)text_to_u64(member(detail, "\"Seq\""), &message->sequence);
    message->group_rank = number(detail, "\"Group Rank\"");
    message->root = number(detail, "\"Root\"");
    message->peer = number(detail, "\"Peer\"");
    if (message->peer < 0 && text_is(message->operation, "send"))
        message->peer = number(detail, "\"Dst Rank\"");
    if (message->peer < 0 && text_is(message->operation, "recv"))
        message->peer = number(detail, "\"Src Rank\"");
}

/* Letters only, in lower case. */
static size_t plain_letters(struct text name, char letters[128]) {
    size_t length = 0;
    for (size_t i = 0; i < name.length && length < 127; i++) {
        char byte = name.data[i];
        if (byte >= 'A' && byte <= 'Z')
            byte = (char)(byte - 'A' + 'a');
        if (byte >= 'a' && byte <= 'z')
            letters[length++] = byte;
    }
    letters[length] = 0;
    return length;
}

struct text message_operation(struct text name) {
    static const struct {
        const char *letters, *operation;
    } operations[] = {
        {"reducescatter", "reduce_scatter"},
        {"allreduce", "allreduce"},
        {"crossdevicereduce", "allreduce"},
        {"multimemoneshot", "allreduce"},
        {"allgather", "allgather"},
        {"alltoall", "alltoall"},
        {"barrier", "barrier"},
        {"broadcast", "broadcast"},
        {"bcast", "broadcast"},
        {"scatter", "scatter"},
        {"gather", "gather"},
        {"reduce", "reduce"},
        {"sendrecv", "sendrecv"},
        {"send", "send"},
        {"recv", "recv"},
        {"scan", "scan"},
        {"wait", "wait"},
    };
    char letters[128];
    struct text plain = {letters, plain_letters(without_arguments(name), letters)};
    for (size_t i = 0; i < ARRAY_COUNT(operations); i++)
        if (text_find(plain, operations[i].letters) >= 0)
            return text_of(operations[i].operation);
    return (struct text){0};
}

bool message_read(struct text detail, struct message *message) {
    uint64_t in = 0, out = 0;
    *message = (struct message){.operation = member(detail, "\"Collective name\""),
                                .group_rank = -1,
                                .root = -1,
                                .peer = -1};
    if (message->operation.length == 0)
        return false;
    uint64_t size = type_size(member(detail, "\"dtype\""));
    (void)text_to_u64(member(detail, "\"Group size\""), &message->ranks);
    bool known = text_to_u64(member(detail, "\"In msg nelems\""), &in);
    known |= text_to_u64(member(detail, "\"Out msg nelems\""), &out);
    uint64_t elements = in > out ? in : out;
    read_place(detail, message);
    if (text_to_u64(member(detail, "\"bytes\""), &message->bytes))
        return true;
    if (!known || __builtin_mul_overflow(elements, size, &message->bytes) ||
        message->bytes > (uint64_t)1 << 48)
        message->bytes = 0;
    return true;
}

double message_link_bytes(const struct message *message) {
    double ranks = (double)message->ranks, bytes = (double)message->bytes;
    if (message->ranks < 2 || message->bytes == 0)
        return 0;
    struct text operation = message->operation;
    if (text_find(operation, "allreduce") >= 0 || text_find(operation, "all_reduce") >= 0)
        return 2 * (ranks - 1) / ranks * bytes;
    if (text_find(operation, "allgather") >= 0 || text_find(operation, "all_gather") >= 0 ||
        text_find(operation, "reduce_scatter") >= 0 || text_find(operation, "all_to_all") >= 0 ||
        text_find(operation, "alltoall") >= 0)
        return (ranks - 1) / ranks * bytes;
    return bytes; /* broadcast, reduce, send and receive */
}

double device_link_limit(struct text device) {
    static const struct {
        const char *name;
        double rate;
    } links[] = {{"B200", 900e9},           {"GB200", 900e9},   {"H200", 450e9},
                 {"H100 80GB HBM3", 450e9}, {"GH200", 450e9},   {"A100", 300e9},
                 {"V100-SXM", 150e9},       {"P100-SXM", 80e9}, {"MI300X", 448e9},
                 {"MI250", 300e9}};
    if (text_find(device, "PCIe") >= 0 || text_find(device, "NVL") >= 0)
        return 0;
    for (size_t i = 0; i < ARRAY_COUNT(links); i++)
        if (text_find(device, links[i].name) >= 0)
            return links[i].rate;
    return 0;
}
