/* The hash map against a plain array, and the interned strings. */
#include "../test.h"

#include "base/intern.h"
#include "base/map.h"

TEST(a_map_finds_every_key_and_its_last_value) {
    struct map map = {0};
    struct status status;
    enum { KEYS = 5000 };
    for (uint64_t round = 1; round <= 2; round++)
        for (uint64_t i = 0; i < KEYS; i++)
            CHECK(map_set(&map, i * 0x100000001u, i * round, &status));
    size_t wrong = 0;
    for (uint64_t i = 0; i < KEYS; i++) {
        const uint64_t *value = map_find(&map, i * 0x100000001u);
        wrong += !value || *value != i * 2;
    }
    CHECK_INT(wrong, 0);
    CHECK(map_find(&map, 7) == NULL);
    map_finish(&map);
}

TEST(key_zero_is_a_key_like_any_other) {
    struct map map = {0};
    struct status status;
    CHECK(map_find(&map, 0) == NULL);
    CHECK(map_set(&map, 0, 11, &status));
    REQUIRE(map_find(&map, 0));
    CHECK_INT(*map_find(&map, 0), 11);
    map_finish(&map);
    CHECK(map_find(&map, 0) == NULL);
}

TEST(a_map_that_cannot_grow_keeps_what_it_has) {
    struct map map = {0};
    struct status status = {0};
    uint64_t kept = 0;
    memory_fail_from(3);
    while (map_set(&map, kept + 1, kept, &status) && kept < 100000)
        kept++;
    memory_fail_from(0);
    CHECK(kept > 0 && kept < 100000);
    CHECK_INT(status.code, STATUS_MEMORY);
    for (uint64_t i = 0; i < kept; i++)
        CHECK(map_find(&map, i + 1) && *map_find(&map, i + 1) == i);
    map_finish(&map);
}

TEST(equal_texts_share_an_id_and_others_do_not) {
    struct intern table = {0};
    struct status status;
    uint32_t id, again;
    CHECK(intern_find(&table, TEXT("x")) == UINT32_MAX);
    for (unsigned i = 0; i < 2000; i++) {
        char name[16];
        snprintf(name, sizeof name, "name %u", i);
        CHECK(intern_add(&table, text_of(name), &id, &status));
        CHECK(intern_add(&table, text_of(name), &again, &status));
        CHECK_INT(id, i + 1);
        CHECK_INT(again, id);
    }
    CHECK(intern_add(&table, TEXT(""), &id, &status));
    CHECK_INT(id, 0);
    CHECK(text_is(intern_text(&table, 1500), "name 1499"));
    CHECK_INT(intern_find(&table, TEXT("name 3")), 4);
    CHECK_INT(intern_text(&table, 999999).length, 0);
    /* a text may hold zero bytes */
    CHECK(intern_add(&table, ((struct text){"a\0b", 3}), &id, &status));
    CHECK(intern_add(&table, ((struct text){"a\0c", 3}), &again, &status));
    CHECK(id != again);
    intern_finish(&table);
}
