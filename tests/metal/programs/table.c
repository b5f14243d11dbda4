/* Compares ridge's table of messages (src/abi/metal.h) with the stand-in's, which follows Apple's
 * documentation: every selector exists, with the same result, parameters and ownership.
 *
 *   table STANDIN.so      prints what differs and `N passed, N failed`
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "abi/metal.h"

static const struct {
    const char *name;
    char letter;
} types[] = {
    {"metal_id", '@'},   {"metal_sel", ':'},     {"metal_void", 'v'},    {"metal_uint", 'Q'},
    {"metal_u64", 'Q'},  {"metal_int", 'q'},     {"metal_bool", 'B'},    {"metal_double", 'd'},
    {"metal_text", '*'}, {"metal_bytes", '^'},   {"metal_address", '^'}, {"metal_out", '^'},
    {"metal_size", 'S'}, {"metal_version", 'V'},
};

static const struct {
    const char *selector, *owner, *result, *parameters;
} rows[] = {
#define ROW(name, selector, owner, result, parameters) {selector, #owner, #result, #parameters},
    METAL_METHODS(ROW)
#undef ROW
};

static char letter_of(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strlen(types[i].name) == length && strncmp(types[i].name, name, length) == 0)
            return types[i].letter;
    return '?';
}

/* The letters of the result and of the parameters after self and _cmd, and the ownership. */
static void encode(size_t row, char *text) {
    char letters[32];
    size_t count = 0;
    for (const char *p = rows[row].parameters + 1; *p;) {
        size_t length = strcspn(p, ",)");
        letters[count++] = letter_of(p, length);
        p += length + strspn(p + length, ",) ");
    }
    letters[count] = 0;
    if (strncmp(letters, "@:", 2) != 0)
        letters[2] = '?';
    sprintf(text, "%c%s %c", letter_of(rows[row].result, strlen(rows[row].result)), letters + 2,
            rows[row].owner[0]);
}

int main(int count, char **arguments) {
    const char *(*signature)(const char *) = NULL;
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    void *symbol = library ? dlsym(library, "standin_signature") : NULL;
    memcpy(&signature, &symbol, sizeof signature);
    if (!signature) {
        fprintf(stderr, "usage: table STANDIN.so\n");
        return 2;
    }
    unsigned passed = 0, failed = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char ours[64];
        const char *theirs = signature(rows[i].selector);
        encode(i, ours);
        if (theirs && strcmp(ours, theirs) == 0) {
            passed++;
            continue;
        }
        failed++;
        printf("FAILED %s: \"%s\" in src/abi/metal.h, documented as \"%s\"\n", rows[i].selector,
               ours, theirs ? theirs : "nothing");
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
