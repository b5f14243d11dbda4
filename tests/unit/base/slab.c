/* Freed handles are detected, whatever happened since. */
#include "../test.h"

#include <pthread.h>

#include "base/memory.h"
#include "base/slab.h"

struct thing {
    int value;
};

TEST(a_handle_finds_its_object_until_it_is_freed) {
    static struct slab slab = SLAB(struct thing, 1);
    struct status status = {0};
    struct thing *thing = slab_allocate(&slab, &status);
    void *handle = slab_handle(&slab, thing);
    CHECK(thing && thing->value == 0 && slab_find(&slab, handle) == thing);
    thing->value = 7;
    slab_free(&slab, thing);
    CHECK(!slab_find(&slab, handle));
    for (int i = 0; i < 10000; i++) {
        struct thing *other = slab_allocate(&slab, &status);
        CHECK(other && other->value == 0 && !slab_find(&slab, handle));
        slab_free(&slab, other);
    }
    CHECK_INT(slab.used, 1); /* the slot is reused */
}

TEST(many_objects_keep_their_places_while_a_slab_grows) {
    static struct slab slab = SLAB(struct thing, 0);
    enum { MANY = 10000 };
    static void *handles[MANY];
    struct status status = {0};
    for (int i = 0; i < MANY; i++) {
        struct thing *thing = slab_allocate(&slab, &status);
        REQUIRE(thing);
        thing->value = i;
        handles[i] = slab_handle(&slab, thing);
    }
    int wrong = 0;
    for (int i = 0; i < MANY; i++) {
        struct thing *thing = slab_find(&slab, handles[i]);
        wrong += !thing || thing->value != i;
    }
    CHECK_INT(wrong, 0);
    for (int i = 0; i < MANY; i += 2)
        slab_free(&slab, slab_find(&slab, handles[i]));
    for (int i = 0; i < MANY; i++)
        wrong += (slab_find(&slab, handles[i]) != NULL) != i % 2;
    CHECK_INT(wrong, 0);
}

TEST(what_is_no_handle_of_a_slab_finds_nothing) {
    static struct slab slab = SLAB(struct thing, 1), other = SLAB(struct thing, 2);
    struct status status = {0};
    struct thing *thing = slab_allocate(&slab, &status);
    int here = 0;
    CHECK(!slab_find(&other, slab_handle(&slab, thing)));
    CHECK(!slab_find(&slab, NULL) && !slab_find(&slab, &here) && !slab_find(&slab, thing));
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t bits = (uint64_t)(uintptr_t)slab_handle(&slab, thing) ^ (uint64_t)1 << bit;
        CHECK(!slab_find(&slab, (void *)(uintptr_t)bits));
    }
    CHECK(!slab_find(&slab, (void *)UINTPTR_MAX));
}

static struct slab shared = SLAB(struct thing, 1);

static void *take_and_give(void *argument) {
    size_t *wrong = argument;
    struct status status = {0};
    for (int i = 0; i < 20000; i++) {
        struct thing *thing = slab_allocate(&shared, &status);
        void *handle = slab_handle(&shared, thing);
        *wrong += slab_find(&shared, handle) != thing || thing->value != 0;
        thing->value = i + 1;
        slab_free(&shared, thing);
        *wrong += slab_find(&shared, handle) != NULL;
    }
    return NULL;
}

TEST(threads_share_a_slab) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    size_t wrong[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, take_and_give, &wrong[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(wrong[i], 0);
    }
}

TEST(a_slab_without_memory_takes_nothing_and_stays_usable) {
    static struct slab slab = SLAB(struct thing, 1);
    struct status status = {0};
    memory_fail_from(1);
    struct thing *thing = slab_allocate(&slab, &status);
    memory_fail_from(0);
    CHECK(!thing && status.code == STATUS_MEMORY);
    CHECK(slab_allocate(&slab, &status));
}
