/* The stack machine of pickles, protocols 0 to 5, without its dangerous half. */
#include "import/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/min_max.h"

enum { LINE_MAX_BYTES = 64 };
#define VALUES_MAX ((size_t)1 << 27)

struct machine {
    struct pickle *pickle;
    const unsigned char *at, *end;
    struct pickle_value **stack; /* NULL: a mark */
    size_t count, capacity;
    struct pickle_value **memo;
    size_t memo_count, memo_capacity;
    size_t values;
    struct status *status;
};

static bool damaged(struct machine *machine) {
    return status_fail(machine->status, STATUS_INPUT, "is a damaged pickle, near its end at %zu",
                       (size_t)(machine->end - machine->at));
}

static bool take(struct machine *machine, size_t size, uint64_t *value) {
    *value = 0;
    if ((size_t)(machine->end - machine->at) < size)
        return damaged(machine);
    for (size_t i = 0; i < size; i++)
        *value |= (uint64_t)machine->at[i] << 8 * i;
    machine->at += size;
    return true;
}

/* ---- The stack ---- */

static struct pickle_value *new_value(struct machine *machine, enum pickle_kind kind) {
    if (machine->values++ > VALUES_MAX) {
        status_fail(machine->status, STATUS_INPUT, "is a pickle of too many values");
        return NULL;
    }
    struct pickle_value *value =
        arena_allocate(&machine->pickle->arena, sizeof *value, machine->status);
    if (value) {
        memset(value, 0, sizeof *value);
        value->kind = kind;
    }
    return value;
}

static bool push(struct machine *machine, struct pickle_value *value) {
    if (!GROW(machine->stack, &machine->capacity, machine->count + 1, machine->status))
        return false;
    machine->stack[machine->count++] = value;
    return true;
}

static bool push_new(struct machine *machine, enum pickle_kind kind, int64_t integer) {
    struct pickle_value *value = new_value(machine, kind);
    if (value && kind != PICKLE_LIST && kind != PICKLE_DICT)
        value->integer = integer;
    return value && push(machine, value);
}

static bool push_real(struct machine *machine, double real) {
    struct pickle_value *value = new_value(machine, PICKLE_REAL);
    if (value)
        value->real = real;
    return value && push(machine, value);
}

static bool push_text(struct machine *machine, uint64_t length) {
    if ((uint64_t)(machine->end - machine->at) < length)
        return damaged(machine);
    struct pickle_value *value = new_value(machine, PICKLE_TEXT);
    if (!value)
        return false;
    value->text = (struct text){(const char *)machine->at, (size_t)length};
    machine->at += length;
    return push(machine, value);
}

/* How many values are above the last mark. */
static bool above_mark(struct machine *machine, size_t *count) {
    for (*count = 0; *count < machine->count; ++*count)
        if (!machine->stack[machine->count - 1 - *count])
            return true;
    return damaged(machine);
}

static struct pickle_value *top(struct machine *machine) {
    return machine->count ? machine->stack[machine->count - 1] : NULL;
}

static bool append(struct machine *machine, struct pickle_value *list,
                   const struct pickle_value *item) {
    struct pickle *pickle = machine->pickle;
    if (list->capacity == 0) {
        if (!GROW(pickle->lists, &pickle->list_capacity, pickle->list_count + 1, machine->status))
            return false;
        pickle->lists[pickle->list_count++] = list;
    }
    if (!GROW(list->items, &list->capacity, list->count + 1, machine->status))
        return false;
    list->items[list->count++] = item;
    return true;
}

/* Moves `count` values from the top to a list or dict, which is below them, or below their mark. */
static bool append_top(struct machine *machine, size_t count, bool marked, enum pickle_kind kind) {
    size_t first = machine->count - count, place = first - marked;
    if (first < (size_t)marked + 1 || place < 1)
        return damaged(machine);
    struct pickle_value *list = machine->stack[place - 1];
    if (!list || list->kind != kind || (kind == PICKLE_DICT && count % 2))
        return damaged(machine);
    for (size_t i = first; i < machine->count; i++)
        if (!machine->stack[i] || !append(machine, list, machine->stack[i]))
            return machine->stack[i] ? false : damaged(machine);
    machine->count = place;
    return true;
}

/* A new list or dict of the `count` values on top, in their place and that of their mark. */
static bool collect(struct machine *machine, size_t count, bool marked, enum pickle_kind kind) {
    struct pickle_value *list = new_value(machine, kind);
    if (!list || machine->count < count + marked)
        return list ? damaged(machine) : false;
    for (size_t i = machine->count - count; i < machine->count; i++)
        if (!machine->stack[i] || !append(machine, list, machine->stack[i]))
            return machine->stack[i] ? false : damaged(machine);
    machine->count -= count + marked;
    return push(machine, list);
}

static bool collect_marked(struct machine *machine, enum pickle_kind kind) {
    size_t count;
    return above_mark(machine, &count) && collect(machine, count, true, kind);
}

/* ---- The memo ---- */

static bool remember(struct machine *machine, uint64_t index) {
    if (!top(machine) || index > machine->memo_count + VALUES_MAX / 16 || index >= VALUES_MAX)
        return damaged(machine);
    if (!GROW(machine->memo, &machine->memo_capacity, (size_t)index + 1, machine->status))
        return false;
    while (machine->memo_count <= index)
        machine->memo[machine->memo_count++] = NULL;
    machine->memo[index] = top(machine);
    return true;
}

static bool recall(struct machine *machine, uint64_t index) {
    if (index >= machine->memo_count || !machine->memo[index])
        return damaged(machine);
    return push(machine, machine->memo[index]);
}

/* ---- Numbers ---- */

/* A number of two's complement bytes. */
static bool push_long(struct machine *machine, uint64_t length) {
    if ((uint64_t)(machine->end - machine->at) < length)
        return damaged(machine);
    const unsigned char *bytes = machine->at;
    machine->at += length;
    bool negative = length > 0 && bytes[length - 1] & 0x80;
    if (length > 8) {
        double real = 0;
        for (uint64_t i = MIN(length, (uint64_t)128); i-- > 0;)
            real = real * 256 + (negative ? 255 - bytes[i] : bytes[i]);
        return push_real(machine, negative ? -real - 1 : real);
    }
    uint64_t value = negative ? ~(uint64_t)0 : 0;
    for (uint64_t i = length; i-- > 0;)
        value = value << 8 | bytes[i];
    return push_new(machine, PICKLE_INTEGER, (int64_t)value);
}

static bool push_binary_real(struct machine *machine) {
    uint64_t bits;
    double real;
    if (!take(machine, 8, &bits))
        return false;
    bits = __builtin_bswap64(bits);
    memcpy(&real, &bits, sizeof real);
    return push_real(machine, real);
}

/* ---- Instructions ---- */

static bool set_top(struct machine *machine, size_t count, bool marked, enum pickle_kind kind) {
    if (!marked)
        return machine->count >= count + 1 ? append_top(machine, count, false, kind)
                                           : damaged(machine);
    return above_mark(machine, &count) && append_top(machine, count, true, kind);
}

/* Classes without code that would run when an object is built. */
static bool is_plain_class(struct text module, struct text name) {
    return text_is(module, "tracemalloc") &&
           (text_is(name, "Snapshot") || text_is(name, "_Traces"));
}

static bool refuse(struct machine *machine, unsigned char code) {
    return status_fail(machine->status, STATUS_INPUT,
                       "is a pickle that imports or calls Python code (instruction 0x%02x), not "
                       "plain data; ridge does not execute it",
                       code);
}

/* STACK_GLOBAL: a module and a name become a class. */
static bool find_class(struct machine *machine, unsigned char code) {
    if (machine->count < 2)
        return damaged(machine);
    const struct pickle_value *module = machine->stack[machine->count - 2];
    const struct pickle_value *name = machine->stack[machine->count - 1];
    if (!module || !name || module->kind != PICKLE_TEXT || name->kind != PICKLE_TEXT ||
        !is_plain_class(module->text, name->text))
        return refuse(machine, code);
    machine->count -= 2;
    return push_new(machine, PICKLE_CLASS, 0);
}

/* NEWOBJ: a class and its arguments, of which there are none, become an object. */
static bool make_object(struct machine *machine, unsigned char code) {
    if (machine->count < 2)
        return damaged(machine);
    const struct pickle_value *class = machine->stack[machine->count - 2];
    const struct pickle_value *arguments = machine->stack[machine->count - 1];
    if (!class || class->kind != PICKLE_CLASS || !arguments || arguments->kind != PICKLE_LIST ||
        arguments->count > 0)
        return refuse(machine, code);
    machine->count -= 2;
    return push_new(machine, PICKLE_DICT, 0);
}

/* BUILD: the state of an object is its members. */
static bool set_state(struct machine *machine, unsigned char code) {
    if (machine->count < 2)
        return damaged(machine);
    struct pickle_value *object = machine->stack[machine->count - 2];
    const struct pickle_value *state = machine->stack[machine->count - 1];
    if (!object || object->kind != PICKLE_DICT || !state || state->kind != PICKLE_DICT ||
        object == state)
        return refuse(machine, code);
    for (size_t i = 0; i < state->count; i++)
        if (!append(machine, object, state->items[i]))
            return false;
    machine->count--;
    return true;
}

/* Instructions with an argument of a length, or an index: its bytes, and what is done. */
static bool step_with_argument(struct machine *machine, unsigned char code, bool *known) {
    uint64_t value;
    *known = true;
    switch (code) {
    case 0x80: /* PROTO */
        return take(machine, 1, &value);
    case 0x95: /* FRAME */
        return take(machine, 8, &value);
    case 'K': /* BININT1 */
        return take(machine, 1, &value) && push_new(machine, PICKLE_INTEGER, (int64_t)value);
    case 'M': /* BININT2 */
        return take(machine, 2, &value) && push_new(machine, PICKLE_INTEGER, (int64_t)value);
    case 'J': /* BININT */
        return take(machine, 4, &value) &&
               push_new(machine, PICKLE_INTEGER, (int32_t)(uint32_t)value);
    case 0x8A: /* LONG1 */
        return take(machine, 1, &value) && push_long(machine, value);
    case 0x8B: /* LONG4 */
        return take(machine, 4, &value) && push_long(machine, value);
    case 'U':  /* SHORT_BINSTRING */
    case 'C':  /* SHORT_BINBYTES */
    case 0x8C: /* SHORT_BINUNICODE */
        return take(machine, 1, &value) && push_text(machine, value);
    case 'T': /* BINSTRING */
    case 'B': /* BINBYTES */
    case 'X': /* BINUNICODE */
        return take(machine, 4, &value) && push_text(machine, value);
    case 0x8D: /* BINUNICODE8 */
    case 0x8E: /* BINBYTES8 */
        return take(machine, 8, &value) && push_text(machine, value);
    case 'q': /* BINPUT */
        return take(machine, 1, &value) && remember(machine, value);
    case 'r': /* LONG_BINPUT */
        return take(machine, 4, &value) && remember(machine, value);
    case 'h': /* BINGET */
        return take(machine, 1, &value) && recall(machine, value);
    case 'j': /* LONG_BINGET */
        return take(machine, 4, &value) && recall(machine, value);
    default:
        *known = false;
        return true;
    }
}

static bool step(struct machine *machine, unsigned char code) {
    bool known, ok = step_with_argument(machine, code, &known);
    if (known)
        return ok;
    switch (code) {
    case '(': /* MARK */
        return push(machine, NULL);
    case 'N': /* NONE */
        return push_new(machine, PICKLE_NONE, 0);
    case 0x88: /* NEWTRUE */
    case 0x89: /* NEWFALSE */
        return push_new(machine, PICKLE_BOOL, code == 0x88);
    case 'G': /* BINFLOAT */
        return push_binary_real(machine);
    case ']': /* EMPTY_LIST */
    case ')': /* EMPTY_TUPLE */
        return push_new(machine, PICKLE_LIST, 0);
    case '}': /* EMPTY_DICT */
        return push_new(machine, PICKLE_DICT, 0);
    case 't': /* TUPLE */
    case 'l': /* LIST */
        return collect_marked(machine, PICKLE_LIST);
    case 'd': /* DICT */
        return collect_marked(machine, PICKLE_DICT);
    case 0x85: /* TUPLE1 */
    case 0x86:
    case 0x87: /* TUPLE3 */
        return collect(machine, code - 0x84, false, PICKLE_LIST);
    case 'a': /* APPEND */
        return set_top(machine, 1, false, PICKLE_LIST);
    case 'e': /* APPENDS */
        return set_top(machine, 0, true, PICKLE_LIST);
    case 's': /* SETITEM */
        return set_top(machine, 2, false, PICKLE_DICT);
    case 'u': /* SETITEMS */
        return set_top(machine, 0, true, PICKLE_DICT);
    case 0x93: /* STACK_GLOBAL */
        return find_class(machine, code);
    case 0x81: /* NEWOBJ */
        return make_object(machine, code);
    case 'b': /* BUILD */
        return set_state(machine, code);
    case 0x94: /* MEMOIZE */
        return remember(machine, machine->memo_count);
    case '0': /* POP */
        machine->count -= machine->count > 0;
        return true;
    default:
        return refuse(machine, code);
    }
}

bool pickle_read(struct pickle *pickle, struct text bytes, struct status *status) {
    const unsigned char *start = (const unsigned char *)bytes.data;
    struct machine machine = {
        .pickle = pickle, .at = start, .end = start + bytes.length, .status = status};
    bool ok = true, stopped = false;
    while (ok && !stopped) {
        if (machine.at == machine.end) {
            ok = damaged(&machine);
            break;
        }
        unsigned char code = *machine.at++;
        stopped = code == '.';
        ok = stopped || step(&machine, code);
    }
    if (ok && !top(&machine))
        ok = damaged(&machine);
    pickle->value = ok ? top(&machine) : NULL;
    memory_free(machine.stack);
    memory_free(machine.memo);
    return ok;
}

void pickle_finish(struct pickle *pickle) {
    for (size_t i = 0; i < pickle->list_count; i++)
        memory_free(pickle->lists[i]->items);
    memory_free(pickle->lists);
    arena_finish(&pickle->arena);
}

bool pickle_detect(struct text head) {
    return head.length > 3 && (unsigned char)head.data[0] == 0x80 &&
           (unsigned char)head.data[1] >= 2 && (unsigned char)head.data[1] <= 5;
}

const struct pickle_value *pickle_member(const struct pickle_value *dict, const char *key) {
    if (!dict || dict->kind != PICKLE_DICT)
        return NULL;
    for (size_t i = dict->count / 2; i-- > 0;) /* the last of a key counts */
        if (dict->items[2 * i]->kind == PICKLE_TEXT && text_is(dict->items[2 * i]->text, key))
            return dict->items[2 * i + 1];
    return NULL;
}

int64_t pickle_integer(const struct pickle_value *dict, const char *key) {
    const struct pickle_value *value = pickle_member(dict, key);
    return value && (value->kind == PICKLE_INTEGER || value->kind == PICKLE_BOOL) ? value->integer
                                                                                  : 0;
}

struct text pickle_text(const struct pickle_value *dict, const char *key) {
    const struct pickle_value *value = pickle_member(dict, key);
    return value && value->kind == PICKLE_TEXT ? value->text : TEXT("");
}

const struct pickle_value *pickle_list(const struct pickle_value *dict, const char *key) {
    static const struct pickle_value empty = {.kind = PICKLE_LIST};
    const struct pickle_value *value = pickle_member(dict, key);
    return value && value->kind == PICKLE_LIST ? value : &empty;
}
