/* What a collective moves, by the arguments that torch.profiler records. */
#include "../test.h"

#include <stdio.h>

#include "analysis/communication.h"
#include "base/array.h"

static struct message read(const char *detail) {
    struct message message;
    CHECK(message_read(text_of(detail), &message));
    return message;
}

TEST(a_message_has_the_larger_of_what_goes_in_and_out) {
    struct message message = read("{\"Collective name\":\"_allgather_base\",\"dtype\":\"Half\","
                                  "\"In msg nelems\":100,\"Out msg nelems\":800,\"Group size\":8}");
    CHECK(text_is(message.operation, "_allgather_base"));
    CHECK_INT(message.bytes, 1600);
    CHECK_INT(message.ranks, 8);
    message = read("{\"Out msg nelems\": 100, \"dtype\": \"Double\", \"In msg nelems\": 200, "
                   "\"Collective name\": \"reduce_scatter\"}");
    CHECK_INT(message.bytes, 1600);
    CHECK_INT(message.ranks, 0);
    message = read("{\"Collective name\":\"send\",\"dtype\":\"Byte\",\"Out msg nelems\":7}");
    CHECK_INT(message.bytes, 7);
}

TEST(a_message_without_a_known_size_has_none) {
    static const char *const details[] = {
        "{\"Collective name\":\"send\",\"dtype\":\"Byte\"}",
        "{\"Collective name\":\"send\",\"In msg nelems\":7}",
        "{\"Collective name\":\"send\",\"dtype\":\"Quarter\",\"In msg nelems\":7}",
        "{\"Collective name\":\"send\",\"dtype\":\"Float\",\"In msg nelems\":\"many\"}",
        "{\"Collective name\":\"send\",\"dtype\":\"Long\",\"In msg nelems\":18446744073709551615}",
        "{\"Collective name\":\"send\",\"dtype\":\"Byte\",\"In msg nelems\":281474976710657}",
        "{\"Collective name\":\"send\",\"dtype\":\"Byte\",\"In msg nelems\":",
    };
    for (size_t i = 0; i < ARRAY_COUNT(details); i++)
        CHECK_INT(read(details[i]).bytes, 0);
    CHECK_INT(
        read("{\"Collective name\":\"a\",\"dtype\":\"Byte\",\"In msg nelems\":281474976710656}")
            .bytes,
        281474976710656);
    struct message message;
    CHECK(!message_read(TEXT("{\"dtype\":\"Byte\"}"), &message));
    CHECK(!message_read(TEXT(""), &message));
    CHECK(!message_read(TEXT("{\"Collective name\":\"\"}"), &message));
    CHECK(!message_read(TEXT("{\"Collective name\""), &message));
}

TEST(every_type_of_pytorch_has_its_size) {
    static const struct {
        const char *name;
        uint64_t size;
    } types[] = {{"Float", 4},         {"Double", 8},       {"Half", 2},
                 {"BFloat16", 2},      {"Int", 4},          {"Long", 8},
                 {"Short", 2},         {"Char", 1},         {"Byte", 1},
                 {"Bool", 1},          {"ComplexFloat", 8}, {"ComplexDouble", 16},
                 {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
    char detail[160];
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        snprintf(detail, sizeof detail,
                 "{\"Collective name\":\"x\",\"dtype\":\"%s\",\"In msg nelems\":3}", types[i].name);
        CHECK_INT(read(detail).bytes, 3 * types[i].size);
    }
}

TEST(the_link_carries_what_the_ring_algorithm_sends) {
    static const struct {
        const char *operation;
        uint64_t bytes, ranks;
        int64_t link;
    } cases[] = {{"allreduce", 800, 8, 1400}, {"_all_reduce_coalesced", 800, 8, 1400},
                 {"allreduce", 800, 2, 800},  {"allreduce", 800, 1, 0},
                 {"allreduce", 0, 8, 0},      {"_allgather_base", 800, 8, 700},
                 {"all_gather", 800, 8, 700}, {"reduce_scatter", 800, 4, 600},
                 {"all_to_all", 800, 8, 700}, {"alltoallv", 800, 8, 700},
                 {"broadcast", 800, 8, 800},  {"send", 800, 2, 800}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct message message = {.operation = text_of(cases[i].operation),
                                  .bytes = cases[i].bytes,
                                  .ranks = cases[i].ranks};
        CHECK_INT(message_link_bytes(&message), cases[i].link);
    }
}

TEST(a_message_has_its_group_and_its_peer) {
    struct message message =
        read("{\"Collective name\":\"send\",\"dtype\":\"Byte\",\"In msg nelems\":7,"
             "\"Process Group Name\":\"3\",\"Process Group Ranks\":\"[0, 1]\",\"Seq\":12,"
             "\"Group Rank\":0,\"Dst Rank\":5,\"Src Rank\":6}");
    CHECK(text_is(message.group, "3"));
    CHECK(text_is(message.members, "[0, 1]"));
    CHECK_INT(message.sequence, 12);
    CHECK_INT(message.group_rank, 0);
    CHECK_INT(message.root, -1);
    CHECK_INT(message.peer, 5);
    message = read("{\"Collective name\":\"recv\",\"Dst Rank\":5,\"Src Rank\":6,\"Root\":0}");
    CHECK_INT(message.peer, 6);
    CHECK_INT(message.root, 0);
    message = read("{\"Collective name\":\"recv\",\"Src Rank\":6,\"Peer\":0,\"Root\":-3}");
    CHECK_INT(message.peer, 0);
    CHECK_INT(message.root, -1);
    message = read("{\"Collective name\":\"allreduce\",\"Src Rank\":6,\"bytes\":77,\"dtype\":"
                   "\"Byte\",\"In msg nelems\":7}");
    CHECK_INT(message.peer, -1);
    CHECK_INT(message.bytes, 77); /* as counted, not as computed */
}

TEST(the_operation_of_a_kernel_is_in_its_name_in_any_spelling) {
    static const struct {
        const char *name, *operation;
    } cases[] = {
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)", "allreduce"},
        {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce_scatter"},
        {"ALL_GATHER", "allgather"},
        {"c10d::allgather_base_", "allgather"},
        {"MPI_Bcast", "broadcast"},
        {"MPI_Alltoallv", "alltoall"},
        {"void vllm::cross_device_reduce_1stage<8>(int)", "allreduce"},
        {"ncclKernel_SendRecv_RING", "sendrecv"},
        {"nccl:Zend", ""},
        {"gemm(AllReduce)", ""}, /* an argument is no name */
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        if (!text_is(message_operation(text_of(cases[i].name)), cases[i].operation))
            test_failed(__FILE__, __LINE__, "%s is not \"%s\"", cases[i].name, cases[i].operation);
}
