/* Loads the Objective-C runtime and replaces methods.
 *
 * A method that a class inherits is overridden in that class alone: other classes keep theirs. If
 * the inherited method is already one of ours, nothing is replaced.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include "probe/metal/metal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "spool/lock.h"
#include "spool/pages.h"

struct objc objc;
static bool is_loaded;
static _Atomic uint32_t tables_lock, install_lock;

bool metal_lock(void) {
    return lock_acquire(&tables_lock);
}

void metal_unlock(void) {
    lock_release(&tables_lock);
}

/* A thread of the parent may have held them. */
static void after_fork_in_child(void) {
    atomic_store(&tables_lock, 0);
    atomic_store(&install_lock, 0);
    metal_commands_forked();
}

/* The program has a device, so the runtime is loaded. */
static void load_once(void) {
    bool ok = true;
#define OBJC_LOAD(name, result, parameters)                                                        \
    *(void **)&objc.name = dlsym(RTLD_DEFAULT, #name);                                             \
    ok = ok && objc.name;
    OBJC_FUNCTIONS(OBJC_LOAD)
#undef OBJC_LOAD
    objc.stack_block = dlsym(RTLD_DEFAULT, "_NSConcreteStackBlock");
    is_loaded = ok && objc.stack_block && pthread_atfork(NULL, NULL, after_fork_in_child) == 0;
}

bool metal_objc_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_once);
    return is_loaded;
}

/* ---- Names ------------------------------------------------------------------------------- */

enum { SELECTORS = 512, NAMES = 8192 };

/* Selectors by the address of their name; a slot is written once. */
objc_sel metal_selector(const char *name) {
    static struct {
        _Atomic(const char *) name;
        _Atomic(objc_sel) selector;
    } known[SELECTORS];
    size_t at = ((uintptr_t)name * (uint64_t)0x9E3779B97F4A7C15u >> 32) % SELECTORS;
    for (unsigned i = 0; i < SELECTORS; i++, at = (at + 1) % SELECTORS) {
        const char *there = atomic_load_explicit(&known[at].name, memory_order_acquire);
        objc_sel selector = atomic_load_explicit(&known[at].selector, memory_order_acquire);
        if (there == name && selector)
            return selector;
        if (there && there != name)
            continue;
        selector = objc.sel_registerName(name);
        if (atomic_compare_exchange_strong(&known[at].name, &there, name))
            atomic_store_explicit(&known[at].selector, selector, memory_order_release);
        return selector;
    }
    return objc.sel_registerName(name);
}

bool metal_responds(objc_id object, const char *selector) {
    return object &&
           objc.class_getInstanceMethod(objc.object_getClass(object), metal_selector(selector));
}

/* With the lock. */
static const char *intern_locked(struct text text) {
    static struct page_arena bytes;
    static const char *names[NAMES];
    static unsigned count;
    size_t at = checksum64(text.data, text.length) % NAMES;
    for (; names[at]; at = (at + 1) % NAMES)
        if (strncmp(names[at], text.data, text.length) == 0 && !names[at][text.length])
            return names[at];
    char *copy = count < NAMES / 2 ? page_arena_allocate(&bytes, text.length + 1) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, text.data, text.length);
    count++;
    return names[at] = copy;
}

static const char *intern(struct text text) {
    if (text.length > SPOOL_TEXT_MAX)
        text.length = SPOOL_TEXT_MAX;
    if (text.length == 0 || !metal_lock())
        return NULL;
    const char *name = intern_locked(text);
    metal_unlock();
    return name;
}

/* Properties may return autoreleased strings, and the thread may have no pool. */
const char *metal_text(objc_id object, const char *property) {
    if (!metal_responds(object, property))
        return NULL;
    void *pool = objc.objc_autoreleasePoolPush();
    objc_id string = OBJC_SEND(objc_id, (objc_id, objc_sel), object, metal_selector(property));
    const char *bytes = string ? OBJC_GET(const char *, string, "UTF8String") : NULL;
    const char *name = bytes ? intern(text_of(bytes)) : NULL;
    objc.objc_autoreleasePoolPop(pool);
    return name;
}

/* ---- Methods ----------------------------------------------------------------------------- */

static struct {
    _Atomic(objc_class) classes[METAL_CLASSES];
    unsigned count;
} hooked[METAL_KINDS];

static bool is_hooked(enum metal_kind kind, objc_class class) {
    for (unsigned i = 0; i < METAL_CLASSES; i++)
        if (atomic_load_explicit(&hooked[kind].classes[i], memory_order_acquire) == class)
            return true;
    return false;
}

/* ---- Types ---- */

static const char *skip_braces(const char *at) {
    unsigned depth = 0;
    for (; *at; at++) {
        depth += *at == '{';
        if (*at == '}' && --depth == 0)
            return at + 1;
    }
    return at;
}

static char struct_letter(const char *at, const char *end) {
    const char *fields = memchr(at, '=', (size_t)(end - at));
    size_t length = fields ? (size_t)(end - 1 - ++fields) : 0;
    return length == 3 && memcmp(fields, "QQQ", 3) == 0  ? 'S'
           : length == 2 && memcmp(fields, "QQ", 2) == 0 ? 'R'
                                                         : '?';
}

static const char *skip_pointers(const char *at) {
    return at + strspn(at, "^rnNoORVA");
}

/* The letter of the next type of an encoding, as metal_hook.types has it, without its offset. The
 * names of structs and qualifiers differ between systems and do not count. */
static char next_letter(const char **encoding) {
    const char *at = *encoding + strspn(*encoding, "rnNoORVA");
    bool is_pointer = *at == '^';
    char letter = *(at = skip_pointers(at));
    const char *end = letter == '{' ? skip_braces(at) : at + (letter != 0);
    if (letter == '@' && *end == '?') /* a block */
        end++;
    *encoding = end + strspn(end, "0123456789");
    switch (is_pointer ? '^' : letter) {
    case '^':
    case '*':
        return '^';
    case 'c': /* BOOL on x86-64 */
        return 'B';
    case 'q':
        return 'Q';
    case '{':
        return struct_letter(at, end);
    default:
        return letter;
    }
}

static bool has_types(const char *encoding, const char *types) {
    const char object_and_selector[] = "@:";
    bool same = encoding && next_letter(&encoding) == *types++;
    for (const char *at = object_and_selector; same && *at; at++)
        same = next_letter(&encoding) == *at;
    for (; same && *types; types++)
        same = next_letter(&encoding) == *types;
    return same && !*encoding;
}

static void put_other_types(const char *selector) {
    struct probe_thread *thread = probe_enter();
    char text[256];
    if (!thread)
        return;
    snprintf(text, sizeof text, "Metal: %s has unknown types on this system and is not recorded",
             selector);
    probe_put_meta(thread, "warning", text_of(text));
    probe_leave(thread);
}

/* ---- Replacing ---- */

static bool is_ours(const struct metal_hook *hook, objc_imp function) {
    for (unsigned i = 0; i < METAL_CLASSES; i++)
        if (hook->ours[i] == function)
            return true;
    return false;
}

static void replace(const struct metal_hook *hook, objc_class class, unsigned slot) {
    objc_sel selector = objc.sel_registerName(hook->selector);
    objc_method method = objc.class_getInstanceMethod(class, selector);
    objc_imp original = method ? objc.method_getImplementation(method) : NULL;
    if (!original || is_ours(hook, original))
        return;
    if (!has_types(objc.method_getTypeEncoding(method), hook->types)) {
        put_other_types(hook->selector);
        return;
    }
    hook->originals[slot] = original;
    atomic_thread_fence(memory_order_seq_cst);
    objc.class_replaceMethod(class, selector, hook->ours[slot],
                             objc.method_getTypeEncoding(method));
}

static void replace_all(enum metal_kind kind, objc_class class, unsigned slot) {
    const struct metal_hook *const lists[] = {metal_device_hooks, metal_command_hooks};
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct metal_hook *hook = lists[i]; hook->selector; hook++)
            if (hook->kind == kind)
                replace(hook, class, slot);
}

bool metal_install(enum metal_kind kind, objc_id object) {
    objc_class class = object ? objc.object_getClass(object) : NULL;
    if (!class || is_hooked(kind, class) || !lock_acquire(&install_lock))
        return class && is_hooked(kind, class);
    if (!is_hooked(kind, class) && hooked[kind].count < METAL_CLASSES) {
        unsigned slot = hooked[kind].count++;
        replace_all(kind, class, slot);
        atomic_store_explicit(&hooked[kind].classes[slot], class, memory_order_release);
    }
    lock_release(&install_lock);
    return is_hooked(kind, class);
}

PROBE_THREAD_LOCAL unsigned depth;

bool metal_enter(void) {
    return depth++ == 0;
}

void metal_leave(void) {
    depth--;
}
