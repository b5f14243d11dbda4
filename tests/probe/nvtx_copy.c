/* The tables of functions that a tool fills in, and calls through them. */
#include "nvtx_copy.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { CORE_SIZE = NVTX_NAME_THREAD_W + 1, CORE2_SIZE = NVTX_INITIALIZE + 1 };

static nvtx_function *core[CORE_SIZE], *core2[CORE2_SIZE];
static nvtx_function **core_places[CORE_SIZE + 1], **core2_places[CORE2_SIZE + 1];
static void *library;

static int module_table(int module, nvtx_function ****table, unsigned *count) {
    if (module == NVTX_MODULE_CORE) {
        *table = core_places;
        *count = CORE_SIZE;
    } else if (module == NVTX_MODULE_CORE2) {
        *table = core2_places;
        *count = CORE2_SIZE;
    } else {
        return 0;
    }
    return 1;
}

static void set_tool_version(uint32_t version) {
    (void)version;
}

static const void *export_table(uint32_t table) {
    static const struct nvtx_callbacks callbacks = {sizeof callbacks, module_table};
    static const struct nvtx_version version = {sizeof version, 3, 0, set_tool_version};
    return table == NVTX_TABLE_CALLBACKS ? (const void *)&callbacks
           : table == NVTX_TABLE_VERSION ? (const void *)&version
                                         : NULL;
}

bool nvtx_begin(void) {
    for (unsigned i = 1; i < CORE_SIZE; i++)
        core_places[i] = &core[i];
    for (unsigned i = 1; i < CORE2_SIZE; i++)
        core2_places[i] = &core2[i];
    const char *path = getenv("NVTX_INJECTION64_PATH");
    library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*initialize)(const void *(*)(uint32_t)) = NULL;
    if (library)
        *(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
    return initialize && initialize(export_table);
}

void nvtx_unload(void) {
    dlclose(library);
}

#define CALL(table, id, missing, type, ...) (table[id] ? ((type)table[id])(__VA_ARGS__) : (missing))

typedef int text_int(const char *);
typedef int wide_int(const wchar_t *);
typedef int attributes_int(const struct nvtx_attributes *);
typedef int domain_attributes_int(void *, const struct nvtx_attributes *);
typedef int domain_int(void *);
typedef int void_int(void);
typedef uint64_t text_id(const char *);
typedef void *text_pointer(const char *);
typedef const void *domain_text_pointer(void *, const char *);
typedef void id_void(uint64_t);
typedef void text_void(const char *);
typedef void attributes_void(const struct nvtx_attributes *);
typedef void domain_attributes_void(void *, const struct nvtx_attributes *);
typedef void number_text_void(uint32_t, const char *);
typedef void domain_number_text_void(void *, uint32_t, const char *);
typedef void domain_void(void *);

int push(const char *name) {
    return CALL(core, NVTX_RANGE_PUSH_A, NVTX_NO_TRACKING, text_int *, name);
}
int push_wide(const wchar_t *name) {
    return CALL(core, NVTX_RANGE_PUSH_W, NVTX_NO_TRACKING, wide_int *, name);
}
int push_ex(const struct nvtx_attributes *attributes) {
    return CALL(core, NVTX_RANGE_PUSH_EX, NVTX_NO_TRACKING, attributes_int *, attributes);
}
int pop(void) {
    return CALL(core, NVTX_RANGE_POP, NVTX_NO_TRACKING, void_int *, );
}
uint64_t start(const char *name) {
    return CALL(core, NVTX_RANGE_START_A, 0, text_id *, name);
}
void end(uint64_t id) {
    CALL(core, NVTX_RANGE_END, (void)0, id_void *, id);
}
void mark(const char *name) {
    CALL(core, NVTX_MARK_A, (void)0, text_void *, name);
}
void mark_ex(const struct nvtx_attributes *attributes) {
    CALL(core, NVTX_MARK_EX, (void)0, attributes_void *, attributes);
}
void name_category(uint32_t category, const char *name) {
    CALL(core, NVTX_NAME_CATEGORY_A, (void)0, number_text_void *, category, name);
}
void name_thread(uint32_t tid, const char *name) {
    CALL(core, NVTX_NAME_THREAD_A, (void)0, number_text_void *, tid, name);
}
void *domain_create(const char *name) {
    return CALL(core2, NVTX_DOMAIN_CREATE_A, NULL, text_pointer *, name);
}
void domain_destroy(void *domain) {
    CALL(core2, NVTX_DOMAIN_DESTROY, (void)0, domain_void *, domain);
}
void domain_name_category(void *domain, uint32_t category, const char *name) {
    CALL(core2, NVTX_DOMAIN_NAME_CATEGORY_A, (void)0, domain_number_text_void *, domain, category,
         name);
}
const void *domain_register(void *domain, const char *text) {
    return CALL(core2, NVTX_DOMAIN_REGISTER_A, NULL, domain_text_pointer *, domain, text);
}
int domain_push(void *domain, const struct nvtx_attributes *attributes) {
    return CALL(core2, NVTX_DOMAIN_RANGE_PUSH_EX, NVTX_NO_TRACKING, domain_attributes_int *, domain,
                attributes);
}
int domain_pop(void *domain) {
    return CALL(core2, NVTX_DOMAIN_RANGE_POP, NVTX_NO_TRACKING, domain_int *, domain);
}
void domain_mark(void *domain, const struct nvtx_attributes *attributes) {
    CALL(core2, NVTX_DOMAIN_MARK_EX, (void)0, domain_attributes_void *, domain, attributes);
}
