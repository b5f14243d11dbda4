/* Reads an operator's inputs out of the JSON that was recorded with it.
 *
 * The importer has made the JSON valid and compact, but a .ridge file may hold anything: what is
 * not as expected ends the reading, and nothing is read beyond the text's end. Nesting is at most
 * three deep (a list of tensors' sizes), so that no recursion is needed.
 */
#include "analysis/operator.h"

#include "base/array.h"
#include "base/decimal.h"

struct cursor {
    const char *at, *end;
};

static void pass_spaces(struct cursor *cursor) {
    while (cursor->at < cursor->end && *cursor->at == ' ')
        cursor->at++;
}

static bool take(struct cursor *cursor, char byte) {
    pass_spaces(cursor);
    if (cursor->at == cursor->end || *cursor->at != byte)
        return false;
    cursor->at++;
    return true;
}

/* The cursor behind the opening bracket of a member that is an array. */
static bool find_array(struct text detail, const char *key, struct cursor *cursor) {
    ptrdiff_t place = text_find(detail, key);
    if (place < 0)
        return false;
    cursor->at = detail.data + place + strlen(key);
    cursor->end = detail.data + detail.length;
    return take(cursor, ':') && take(cursor, '[');
}

static bool take_number(struct cursor *cursor, double *number) {
    pass_spaces(cursor);
    const char *start = cursor->at;
    int64_t value;
    while (cursor->at < cursor->end && strchr("+-.0123456789eE", *cursor->at) && *cursor->at)
        cursor->at++;
    if (!decimal_scaled((struct text){start, (size_t)(cursor->at - start)}, 0, &value))
        return false;
    *number = (double)value;
    return true;
}

/* A text without its quotes; escapes stay as they are, none of the words that matter has any. */
static bool take_string(struct cursor *cursor, struct text *text) {
    if (!take(cursor, '"'))
        return false;
    const char *start = cursor->at;
    while (cursor->at < cursor->end && *cursor->at != '"')
        cursor->at += *cursor->at == '\\' && cursor->at + 1 < cursor->end ? 2 : 1;
    *text = (struct text){start, (size_t)(cursor->at - start)};
    return take(cursor, '"');
}

/* The sizes of one tensor, behind its opening bracket. */
static bool take_sizes(struct cursor *cursor, struct argument *argument) {
    argument->rank = 0;
    argument->elements = 1;
    if (take(cursor, ']'))
        return true;
    do {
        double size;
        if (argument->rank == ARGUMENT_RANK_MAX || !take_number(cursor, &size) || size < 0)
            return false;
        argument->dims[argument->rank++] = size;
        argument->elements *= size;
    } while (take(cursor, ','));
    return take(cursor, ']');
}

/* The tensors of a list, behind the opening bracket of the first. */
static bool take_list(struct cursor *cursor, struct argument *list) {
    double elements = 0;
    do {
        if (!take_sizes(cursor, list))
            return false;
        elements += list->elements;
    } while (take(cursor, ',') && take(cursor, '['));
    list->is_list = true;
    list->rank = 0;
    list->elements = elements;
    return take(cursor, ']');
}

static bool take_dims(struct cursor *cursor, struct arguments *arguments) {
    if (take(cursor, ']'))
        return false;
    do {
        if (arguments->count == ARGUMENTS_MAX)
            return true;
        struct argument *argument = &arguments->list[arguments->count];
        if (!take(cursor, '['))
            return false;
        if (!(take(cursor, '[') ? take_list(cursor, argument) : take_sizes(cursor, argument)))
            return false;
        arguments->count++;
    } while (take(cursor, ','));
    return take(cursor, ']');
}

static const struct {
    const char *name;
    enum element_type type;
    unsigned size;
} types[] = {
    {"float", ELEMENT_F32, 4},
    {"c10::Half", ELEMENT_F16, 2},
    {"c10::BFloat16", ELEMENT_BF16, 2},
    {"double", ELEMENT_F64, 8},
    {"long int", ELEMENT_OTHER, 8},
    {"long", ELEMENT_OTHER, 8},
    {"int", ELEMENT_OTHER, 4},
    {"short int", ELEMENT_OTHER, 2},
    {"short", ELEMENT_OTHER, 2},
    {"unsigned short", ELEMENT_OTHER, 2},
    {"unsigned int", ELEMENT_OTHER, 4},
    {"unsigned long", ELEMENT_OTHER, 8},
    {"signed char", ELEMENT_OTHER, 1},
    {"unsigned char", ELEMENT_OTHER, 1},
    {"char", ELEMENT_OTHER, 1},
    {"bool", ELEMENT_OTHER, 1},
    {"c10::Float8_e4m3fn", ELEMENT_OTHER, 1},
    {"c10::Float8_e5m2", ELEMENT_OTHER, 1},
    {"c10::Float8_e4m3fnuz", ELEMENT_OTHER, 1},
    {"c10::Float8_e5m2fnuz", ELEMENT_OTHER, 1},
    {"c10::complex<float>", ELEMENT_OTHER, 8},
    {"c10::complex<double>", ELEMENT_OTHER, 16},
};

/* A scalar is spelt with a capital letter or not at all ("Scalar", "Int", ""). */
static void set_type(struct argument *argument, struct text name) {
    for (size_t i = 0; i < ARRAY_COUNT(types); i++)
        if (text_is(name, types[i].name)) {
            argument->type = types[i].type;
            argument->size = types[i].size;
        }
}

bool arguments_read(struct text detail, struct arguments *arguments) {
    struct cursor cursor;
    struct text text;
    memset(arguments, 0, sizeof *arguments);
    if (!find_array(detail, "\"Input Dims\"", &cursor) || !take_dims(&cursor, arguments))
        return false;
    arguments->untyped = !find_array(detail, "\"Input type\"", &cursor);
    for (unsigned i = 0; !arguments->untyped && i < arguments->count && take_string(&cursor, &text);
         i++) {
        set_type(&arguments->list[i], text);
        if (!take(&cursor, ','))
            break;
    }
    if (find_array(detail, "\"Concrete Inputs\"", &cursor))
        for (unsigned i = 0; i < arguments->count && take_string(&cursor, &text); i++) {
            arguments->list[i].concrete = text;
            if (!take(&cursor, ','))
                break;
        }
    return true;
}

void arguments_assume(struct arguments *arguments, enum element_type type) {
    for (unsigned i = 0; i < arguments->count; i++) {
        struct argument *argument = &arguments->list[i];
        if (argument->rank == 0 || argument->is_list)
            continue;
        argument->type = type;
        argument->size = type == ELEMENT_F32 ? 4 : type == ELEMENT_F64 ? 8 : 2;
    }
}

unsigned argument_numbers(struct text concrete, double *numbers, unsigned capacity) {
    struct cursor cursor = {concrete.data, concrete.data + concrete.length};
    unsigned count = 0;
    take(&cursor, '[');
    do {
        if (count == capacity || !take_number(&cursor, &numbers[count]))
            break;
        count++;
    } while (take(&cursor, ','));
    return count;
}
