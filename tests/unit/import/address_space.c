/* Addresses of a process as functions: by mappings alone, and by the symbols of this program. */
#include "import/address_space.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/sysmacros.h>
#endif
#include <unistd.h>

#include "../test.h"
#include "base/text.h"

static void map(struct address_space *space, uint64_t pid, uint64_t time, uint64_t start,
                const char *path) {
    struct status status = {0};
    struct mapping mapping = {
        .start = start, .end = start + 0x1000, .offset = 0x400, .pid = pid, .time = time};
    CHECK_OK(address_space_map(space, &mapping, text_of(path), &(struct file_identity){0}, &status),
             status);
}

/* "module address" of an address. */
static const char *place_of(struct address_space *space, uint64_t pid, uint64_t time,
                            uint64_t address) {
    static char place[200];
    struct buffer name = {0};
    struct text module;
    address_space_find(space, pid, time, address, &name, &module);
    snprintf(place, sizeof place, "%.*s %.*s", TEXT_ARGS(module), (int)name.length, name.data);
    buffer_finish(&name);
    return place;
}

TEST(an_address_belongs_to_the_last_mapping_before_its_time) {
    struct address_space space = {0};
    map(&space, 7, 20, 0x1000, "/no/such/second.so");
    map(&space, 9, 0, 0x1000, "/no/such/other.so");
    map(&space, 7, 10, 0x1000, "/no/such/first.so");
    map(&space, 7, 30, 0x3000, "/no/such/third.so");
    address_space_ready(&space);
    CHECK_STRING(place_of(&space, 7, 5, 0x1010), "first.so 0x410"); /* none is earlier */
    CHECK_STRING(place_of(&space, 7, 10, 0x1010), "first.so 0x410");
    CHECK_STRING(place_of(&space, 7, 19, 0x1000), "first.so 0x400");
    CHECK_STRING(place_of(&space, 7, 20, 0x1fff), "second.so 0x13ff");
    CHECK_STRING(place_of(&space, 7, 40, 0x1010), "second.so 0x410");
    CHECK_STRING(place_of(&space, 7, 40, 0x2000), " 0x2000"); /* behind the end */
    CHECK_STRING(place_of(&space, 7, 40, 0xfff), " 0xfff");
    CHECK_STRING(place_of(&space, 7, 40, 0x3000), "third.so 0x400");
    CHECK_STRING(place_of(&space, 9, 40, 0x1000), "other.so 0x400");
    CHECK_STRING(place_of(&space, 8, 40, 0x1000), " 0x1000");
    address_space_finish(&space);
}

TEST(a_forked_process_has_the_mappings_of_its_ancestors_and_its_own_first) {
    struct address_space space = {0};
    struct status status = {0};
    map(&space, 7, 10, 0x1000, "/no/such/inherited.so");
    map(&space, 9, 10, 0x3000, "/no/such/own.so");
    map(&space, 7, 10, 0x3000, "/no/such/hidden.so");
    CHECK(address_space_fork(&space, 8, 7, &status));
    CHECK(address_space_fork(&space, 9, 8, &status));
    CHECK(address_space_fork(&space, 6, 6, &status)); /* a thread */
    address_space_ready(&space);
    CHECK_STRING(place_of(&space, 9, 20, 0x1000), "inherited.so 0x400");
    CHECK_STRING(place_of(&space, 9, 20, 0x3000), "own.so 0x400");
    CHECK_STRING(place_of(&space, 8, 20, 0x3000), "hidden.so 0x400");
    CHECK_STRING(place_of(&space, 6, 20, 0x1000), " 0x1000");
    address_space_finish(&space);
}

TEST(mappings_without_a_file_have_names_too) {
    struct address_space space = {0};
    map(&space, 7, 0, 0x1000, "//anon");
    map(&space, 7, 0, 0x3000, "");
    map(&space, 7, 0, 0x5000, "[vdso]");
    map(&space, 7, 0, 0x7000, "relative/name");
    map(&space, 7, 0, 0x9000, "/folder/");
    address_space_ready(&space);
    CHECK_STRING(place_of(&space, 7, 0, 0x1000), "[anon] 0x400");
    CHECK_STRING(place_of(&space, 7, 0, 0x3000), "[unknown] 0x400");
    CHECK_STRING(place_of(&space, 7, 0, 0x5000), "[vdso] 0x400");
    CHECK_STRING(place_of(&space, 7, 0, 0x7000), "relative/name 0x400");
    CHECK_STRING(place_of(&space, 7, 0, 0x9000), "/folder/ 0x400");
    address_space_finish(&space);
}

#ifdef __linux__
/* The mapping of this program that has test_failed(). */
static bool find_self(struct mapping *mapping, char *path, size_t size) {
    char line[1024];
    bool found = false;
    FILE *file = fopen("/proc/self/maps", "r");
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = 0;
    while (file && !found && fgets(line, sizeof line, file)) {
        unsigned long long start, end, offset;
        found = sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) == 3 &&
                (uintptr_t)test_failed >= start && (uintptr_t)test_failed < end;
        *mapping = (struct mapping){.start = start, .end = end, .offset = offset, .pid = 7};
    }
    if (file)
        fclose(file);
    return found;
}

/* Whether test_failed() has its name where the file is identified like this. */
static bool is_named(const struct file_identity *identity, int64_t written) {
    struct address_space space = {.written = written};
    struct status status = {0};
    struct mapping mapping;
    struct buffer name = {0};
    struct text module;
    char path[1024];
    if (!find_self(&mapping, path, sizeof path) ||
        !address_space_map(&space, &mapping, text_of(path), identity, &status))
        return false;
    address_space_ready(&space);
    bool named = address_space_find(&space, 7, 0, (uintptr_t)test_failed + 1, &name, &module);
    CHECK(named == text_is(buffer_as_text(&name), "test_failed"));
    buffer_finish(&name);
    address_space_finish(&space);
    return named;
}

TEST(only_the_profiled_file_gives_names_by_its_inode_and_time) {
    struct stat info;
    REQUIRE(stat("/proc/self/exe", &info) == 0);
    struct file_identity identity = {.device_major = major(info.st_dev),
                                     .device_minor = minor(info.st_dev),
                                     .inode = info.st_ino};
    CHECK(is_named(&identity, info.st_mtime + 1));
    CHECK(!is_named(&identity, info.st_mtime)); /* it may have been written since */
    CHECK(!is_named(&(struct file_identity){0}, info.st_mtime + 1));
    struct file_identity other = identity;
    other.inode++;
    CHECK(!is_named(&other, info.st_mtime + 1));
    other = identity;
    other.device_major++;
    CHECK(!is_named(&other, info.st_mtime + 1));
    other = identity;
    other.device_minor++;
    CHECK(!is_named(&other, info.st_mtime + 1));
}

TEST(only_the_profiled_file_gives_names_by_its_build_id) {
    struct elf_source source;
    struct elf elf = {0};
    struct status status = {0};
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && elf_source_file(&source, fd, &status) && elf_read(&elf, &source, &status));
    struct file_identity identity = {.build_id_length = elf.build_id_length};
    memcpy(identity.build_id, elf.build_id, elf.build_id_length);
    elf_finish(&elf);
    close(fd);
    if (identity.build_id_length == 0) {
        identity = (struct file_identity){.build_id = {1}, .build_id_length = 20};
        CHECK(!is_named(&identity, INT64_MAX)); /* this program has none */
        return;
    }
    CHECK(is_named(&identity, 0));
    identity.build_id[identity.build_id_length - 1] ^= 1;
    CHECK(!is_named(&identity, INT64_MAX));
}
#endif
