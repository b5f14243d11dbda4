/* The rank of a process, from the variables of its launcher. */
#include "../test.h"

#include "base/job_place.h"

static struct job_place read(const char *variables, size_t size) {
    return job_place_read(variables, size);
}
#define READ(text) read(text, sizeof text)

TEST(a_process_has_the_rank_of_its_launcher) {
    struct job_place place = READ("HOME=/x\0RANK=3\0LOCAL_RANK=1\0WORLD_SIZE=8");
    CHECK_INT(place.rank, 3);
    CHECK_INT(place.local_rank, 1);
    CHECK_INT(place.world_size, 8);
    place = READ("OMPI_COMM_WORLD_RANK=5\0OMPI_COMM_WORLD_SIZE=6\0SLURM_PROCID=0");
    CHECK_INT(place.rank, 5);
    CHECK_INT(place.local_rank, -1);
    CHECK_INT(place.world_size, 6);
    place = READ("SLURM_PROCID=12\0SLURM_LOCALID=4\0SLURM_NTASKS=16");
    CHECK_INT(place.rank, 12);
    CHECK_INT(place.local_rank, 4);
}

TEST(a_value_that_is_no_number_is_no_rank) {
    CHECK_INT(READ("RANK=first").rank, -1);
    CHECK_INT(READ("RANK=").rank, -1);
    CHECK_INT(READ("RANK=-1").rank, -1);
    CHECK_INT(READ("RANK=12345678901").rank, -1);
    CHECK_INT(READ("XRANK=1").rank, -1);
    CHECK_INT(read("RANK=1", 6).rank, -1); /* not terminated */
}

TEST(ranks_are_selected_by_number_interval_or_host) {
    CHECK(job_ranks_valid("0") && job_ranks_valid("0,4-7") && job_ranks_valid("all") &&
          job_ranks_valid("one-per-host") && job_ranks_valid("0/7"));
    CHECK(!job_ranks_valid("") && !job_ranks_valid("x") && !job_ranks_valid("1,") &&
          !job_ranks_valid("4-") && !job_ranks_valid("7-4"));
    CHECK(job_ranks_include("0,4-7", (struct job_place){5, 1, 8}));
    CHECK(!job_ranks_include("0,4-7", (struct job_place){3, 3, 8}));
    CHECK(job_ranks_include("0", (struct job_place){-1, -1, -1}));
    CHECK(job_ranks_include("one-per-host", (struct job_place){4, 0, 8}));
    CHECK(!job_ranks_include("one-per-host", (struct job_place){5, 1, 8}));
}
