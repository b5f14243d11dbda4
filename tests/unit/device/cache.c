/* The disk cache: stored payloads are found, and nothing else is trusted. */
#include "../test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "device/cache.h"

/* Points RIDGE_CACHE at a fresh folder (NULL: leaves that to the test) for one test. */
struct setting {
    char folder[512];
    char *before;
};

static struct setting begin(void) {
    struct setting setting = {0};
    const char *before = getenv("RIDGE_CACHE");
    setting.before = before ? strdup(before) : NULL;
    snprintf(setting.folder, sizeof setting.folder, "%s", test_temporary("-cache"));
    setenv("RIDGE_CACHE", setting.folder, 1);
    return setting;
}

static void end(struct setting *setting) {
    char path[1024];
    DIR *listing = opendir(setting->folder);
    struct dirent *entry;
    while (listing && (entry = readdir(listing))) {
        snprintf(path, sizeof path, "%s/%s", setting->folder, entry->d_name);
        unlink(path);
    }
    if (listing)
        closedir(listing);
    rmdir(setting->folder);
    if (setting->before)
        setenv("RIDGE_CACHE", setting->before, 1);
    else
        unsetenv("RIDGE_CACHE");
    free(setting->before);
}

/* The path of the only file in the folder; counts the files. */
static unsigned find_file(const struct setting *setting, char path[1024]) {
    DIR *listing = opendir(setting->folder);
    struct dirent *entry;
    unsigned count = 0;
    while (listing && (entry = readdir(listing)))
        if (entry->d_name[0] != '.') {
            snprintf(path, 1024, "%s/%s", setting->folder, entry->d_name);
            count++;
        }
    if (listing)
        closedir(listing);
    return count;
}

static bool loads(const char *key, const char *expected) {
    struct buffer payload = {0};
    bool found = cache_load(key, strlen(key), &payload);
    bool right = found && text_is(buffer_as_text(&payload), expected);
    if (found && !right)
        test_failed(__FILE__, __LINE__, "%s gives something else", key);
    CHECK(!payload.failed);
    buffer_finish(&payload);
    return right;
}

static void store(const char *key, const char *payload) {
    cache_store(key, strlen(key), payload, strlen(payload));
}

TEST(what_was_stored_under_a_key_is_loaded_by_it_alone) {
    struct setting setting = begin();
    CHECK(!loads("key", "payload"));
    store("key", "payload");
    store("other", "");
    CHECK(loads("key", "payload"));
    CHECK(loads("other", ""));
    CHECK(!loads("ke", "payload"));
    CHECK(!loads("keyp", "ayload"));
    CHECK(!loads("", ""));
    store("key", "another payload");
    CHECK(loads("key", "another payload"));
    store("", "of the empty key");
    CHECK(loads("", "of the empty key"));
    end(&setting);
}

TEST(the_folder_and_its_files_are_the_user_s_alone) {
    struct setting setting = begin();
    char path[1024];
    struct stat facts;
    store("key", "payload");
    CHECK_INT(find_file(&setting, path), 1);
    CHECK(stat(setting.folder, &facts) == 0 && (facts.st_mode & 0777) == 0700);
    CHECK(stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0600);
    end(&setting);
}

TEST(a_damaged_file_is_not_believed_and_gets_replaced) {
    struct setting setting = begin();
    char path[1024];
    store("the key", "the payload");
    REQUIRE(find_file(&setting, path) == 1);
    struct stat facts;
    REQUIRE(stat(path, &facts) == 0);
    for (off_t at = 0; at < facts.st_size; at++) {
        char byte;
        int fd = open(path, O_RDWR);
        REQUIRE(fd >= 0 && pread(fd, &byte, 1, at) == 1);
        byte ^= 0x20;
        CHECK(pwrite(fd, &byte, 1, at) == 1);
        close(fd);
        CHECK(!loads("the key", "the payload"));
        store("the key", "the payload");
        CHECK(loads("the key", "the payload"));
    }
    for (off_t length = 0; length < facts.st_size; length++) {
        CHECK(truncate(path, length) == 0);
        CHECK(!loads("the key", "the payload"));
        store("the key", "the payload");
        CHECK(loads("the key", "the payload"));
    }
    end(&setting);
}

TEST(a_file_of_another_key_under_the_same_name_is_not_believed) {
    struct setting setting = begin();
    char one[1024], two[1024];
    const char *aside = test_temporary(".kernel");
    store("one", "1");
    REQUIRE(find_file(&setting, one) == 1);
    CHECK(rename(one, aside) == 0);
    store("two", "2");
    REQUIRE(find_file(&setting, two) == 1);
    CHECK(rename(aside, two) == 0);
    CHECK(!loads("two", "1"));
    CHECK(access(two, F_OK) == 0); /* it is whole: it may be someone's */
    store("two", "2");
    CHECK(loads("two", "2"));
    end(&setting);
}

TEST(a_folder_that_others_may_write_to_is_not_used) {
    struct setting setting = begin();
    struct buffer path = {0};
    struct status status = {0};
    char file[1024];
    store("key", "payload");
    CHECK(chmod(setting.folder, 0777) == 0);
    CHECK(!loads("key", "payload"));
    store("another", "payload");
    CHECK(!cache_folder(&path, &status));
    CHECK(strstr(status.message, "other users can write to") &&
          strstr(status.message, "chmod go-w"));
    CHECK(chmod(setting.folder, 0700) == 0);
    CHECK_INT(find_file(&setting, file), 1);
    buffer_clear(&path);
    CHECK_OK(cache_folder(&path, &status), status);
    CHECK_STRING(path.data, setting.folder);
    buffer_finish(&path);
    end(&setting);
}

TEST(the_cache_can_be_switched_off) {
    struct setting setting = begin();
    const char *const off[] = {"", "off"};
    char path[1024];
    for (unsigned i = 0; i < 2; i++) {
        struct buffer folder = {0};
        struct status status = {0};
        setenv("RIDGE_CACHE", off[i], 1);
        store("key", "payload");
        CHECK(!loads("key", "payload"));
        CHECK(!cache_folder(&folder, &status));
        CHECK_INT(status.code, STATUS_UNSUPPORTED);
        buffer_finish(&folder);
    }
    CHECK_INT(find_file(&setting, path), 0);
    end(&setting);
}

TEST(a_folder_that_cannot_be_made_keeps_nothing_and_says_so_when_asked) {
    struct setting setting = begin();
    struct buffer folder = {0};
    struct status status = {0};
    setenv("RIDGE_CACHE", "/dev/null/ridge", 1);
    store("key", "payload");
    CHECK(!loads("key", "payload"));
    CHECK(!cache_folder(&folder, &status));
    CHECK(strstr(status.message, "cannot open /dev/null/ridge"));
    buffer_finish(&folder);
    end(&setting);
}

/* A file with a kernel's name and nothing in it but its size. */
static void make_hollow(const struct setting *setting, char digit, off_t bytes, time_t used) {
    char path[1024], digits[33];
    memset(digits, digit, 32);
    digits[32] = 0;
    snprintf(path, sizeof path, "%s/%s%s", setting->folder, digits,
             digit == 'x' ? ".txt" : ".kernel");
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && ftruncate(fd, bytes) == 0);
    struct timespec times[2] = {{.tv_sec = used}, {.tv_sec = used}};
    CHECK(futimens(fd, times) == 0);
    close(fd);
}

static bool has(const struct setting *setting, char digit) {
    char path[1024], digits[33];
    memset(digits, digit, 32);
    digits[32] = 0;
    snprintf(path, sizeof path, "%s/%s%s", setting->folder, digits,
             digit == 'x' ? ".txt" : ".kernel");
    return access(path, F_OK) == 0;
}

TEST(the_oldest_files_go_when_there_are_too_many_bytes) {
    struct setting setting = begin();
    store("key", "payload");
    make_hollow(&setting, 'a', 100 << 20, 3000);
    make_hollow(&setting, 'b', 100 << 20, 1000);
    make_hollow(&setting, 'x', 100 << 20, 500); /* someone else's */
    store("second", "payload");
    CHECK(has(&setting, 'a') && has(&setting, 'b'));
    make_hollow(&setting, 'c', 100 << 20, 2000);
    store("third", "payload");
    CHECK(has(&setting, 'a') && !has(&setting, 'b') && !has(&setting, 'c'));
    CHECK(has(&setting, 'x'));
    CHECK(loads("key", "payload") && loads("second", "payload") && loads("third", "payload"));
    end(&setting);
}

TEST(the_cache_survives_the_failure_of_any_allocation) {
    struct setting setting = begin();
    bool ok = false;
    unsigned nth = 0;
    while (!ok && nth < 100) {
        struct buffer payload = {0};
        memory_fail_from(++nth);
        store("key", "payload");
        ok = cache_load("key", 3, &payload);
        memory_fail_from(0);
        CHECK(!payload.failed);
        buffer_finish(&payload);
    }
    CHECK(ok);
    CHECK(nth > 4);
    end(&setting);
}
