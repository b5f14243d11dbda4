/* The shunting-yard algorithm: operators wait on a stack until one that binds less comes. A
 * function waits at its parenthesis. There is no recursion. */
#include "tensor/expression.h"

#include <math.h>
#include <string.h>

#include "base/min_max.h"

enum { STACK_MAX = 64, EXPONENT_MAX = 9999 };

enum waiting_kind { WAITING_OPERATOR, WAITING_PARENTHESIS, WAITING_FUNCTION };

struct waiting {
    enum waiting_kind kind;
    unsigned binding; /* of operators */
    struct expression_step step;
    unsigned arguments; /* of functions, seen so far */
    unsigned arity;
};

struct parser {
    struct text text;
    size_t at;
    unsigned operands;
    struct expression *out;
    struct waiting stack[STACK_MAX];
    unsigned depth;
    struct status *status;
};

static const struct {
    const char *symbol; /* longer ones first */
    unsigned binding;
    enum op op;
} operators[] = {
    {"||", 1, OP_LOGICAL_OR}, {"&&", 2, OP_LOGICAL_AND}, {"==", 3, OP_EQUAL},
    {"!=", 3, OP_NOT_EQUAL},  {"<=", 4, OP_LESS_EQUAL},  {">=", 4, OP_GREATER_EQUAL},
    {"<", 4, OP_LESS},        {">", 4, OP_GREATER},      {"+", 5, OP_ADD},
    {"-", 5, OP_SUB},         {"*", 6, OP_MUL},          {"/", 6, OP_DIV},
    {"%", 6, OP_MOD},
};
enum { OPERATORS = sizeof operators / sizeof operators[0], BINDING_UNARY = 7 };

static bool fail(struct parser *parser, const char *what) {
    return status_fail(parser->status, STATUS_USAGE, "character %zu of the expression: %s",
                       parser->at + 1, what);
}

static char next(struct parser *parser) {
    while (parser->at < parser->text.length && parser->text.data[parser->at] == ' ')
        parser->at++;
    return parser->at < parser->text.length ? parser->text.data[parser->at] : '\0';
}

static bool starts_with(const struct parser *parser, const char *word) {
    size_t length = strlen(word);
    return parser->text.length - parser->at >= length &&
           memcmp(parser->text.data + parser->at, word, length) == 0;
}

static bool emit(struct parser *parser, struct expression_step step) {
    if (parser->out->count == EXPRESSION_STEPS_MAX)
        return fail(parser, "it has too many operations; use two expressions");
    parser->out->steps[parser->out->count++] = step;
    return true;
}

static bool push(struct parser *parser, struct waiting waiting) {
    if (parser->depth == STACK_MAX)
        return fail(parser, "it is nested too deeply");
    parser->stack[parser->depth++] = waiting;
    return true;
}

/* Emits waiting operators that bind at least as much. */
static bool emit_operators(struct parser *parser, unsigned binding) {
    while (parser->depth > 0) {
        const struct waiting *top = &parser->stack[parser->depth - 1];
        if (top->kind != WAITING_OPERATOR || top->binding < binding)
            break;
        parser->depth--;
        if (!emit(parser, top->step))
            return false;
    }
    return true;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool take_digit(struct parser *parser, unsigned *digit) {
    if (parser->at >= parser->text.length || !is_digit(parser->text.data[parser->at]))
        return false;
    *digit = (unsigned)(parser->text.data[parser->at++] - '0');
    return true;
}

static bool take(struct parser *parser, const char *any) {
    if (parser->at >= parser->text.length || !strchr(any, parser->text.data[parser->at]))
        return false;
    parser->at++;
    return true;
}

/* Digits, a point and an exponent, whatever the locale. */
static bool read_number(struct parser *parser) {
    double number = 0;
    int digits = 0, scale = 0, exponent = 0;
    unsigned digit;
    for (; take_digit(parser, &digit); digits++)
        number = number * 10 + digit;
    if (take(parser, "."))
        for (; take_digit(parser, &digit); digits++, scale--)
            number = number * 10 + digit;
    bool ok = digits > 0;
    if (ok && take(parser, "eE")) {
        bool negative = take(parser, "-");
        if (!negative)
            take(parser, "+");
        for (digits = 0; take_digit(parser, &digit); digits++)
            exponent = MIN(exponent * 10 + (int)digit, EXPONENT_MAX);
        ok = digits > 0;
        exponent = negative ? -exponent : exponent;
    }
    scale += exponent;
    number = scale < 0 ? number / pow(10, -scale) : number * pow(10, scale);
    if (!ok || !isfinite(number))
        return fail(parser, "this is not a number");
    return emit(parser, (struct expression_step){.kind = STEP_NUMBER, .number = number});
}

static bool find_function(struct text name, struct waiting *found) {
    for (enum op op = 0; op < OP_ELEMENTWISE_COUNT; op++)
        if (text_is(name, op_info(op)->name)) {
            found->step = (struct expression_step){.kind = STEP_APPLY, .op = op};
            found->arity = op_info(op)->arity;
            return true;
        }
    for (enum ridge_dtype dtype = RIDGE_F32; dtype <= RIDGE_U8; dtype++)
        if (text_is(name, ridge_dtype_name(dtype))) {
            found->step = (struct expression_step){.kind = STEP_CAST, .dtype = dtype};
            found->arity = 1;
            return true;
        }
    return false;
}

/* An operand, or a function and its parenthesis; *value is false for the latter. */
static bool read_word(struct parser *parser, bool *value) {
    size_t begin = parser->at, end = begin;
    while (end < parser->text.length &&
           (is_letter(parser->text.data[end]) || is_digit(parser->text.data[end])))
        end++;
    struct text word = {parser->text.data + begin, end - begin};
    struct waiting function = {.kind = WAITING_FUNCTION};
    if (word.length == 1 && word.data[0] >= 'a' && word.data[0] <= 'z') {
        unsigned index = (unsigned)(word.data[0] - 'a');
        if (index >= parser->operands)
            return fail(parser, "there is no such operand: they are a, b and so on");
        parser->at = end;
        return emit(parser, (struct expression_step){.kind = STEP_OPERAND, .index = index});
    }
    if (!find_function(word, &function))
        return fail(parser, "unknown function: they are the elementwise ones of ridge.h, without "
                            "ridge_, and the dtypes");
    parser->at = end;
    if (next(parser) != '(')
        return fail(parser, "a parenthesis is missing");
    parser->at++;
    *value = false;
    return push(parser, function);
}

/* A value, or what comes before one. */
static bool read_value(struct parser *parser, bool *value) {
    char c = next(parser);
    *value = true;
    if (is_digit(c) || c == '.')
        return read_number(parser);
    if (is_letter(c))
        return read_word(parser, value);
    *value = false;
    if (c != '(' && c != '-' && c != '!')
        return fail(parser, c ? "a value is missing" : "it ends without a value");
    parser->at++;
    if (c == '(')
        return push(parser, (struct waiting){.kind = WAITING_PARENTHESIS});
    enum op op = c == '-' ? OP_NEG : OP_LOGICAL_NOT;
    return push(parser, (struct waiting){.kind = WAITING_OPERATOR,
                                         .binding = BINDING_UNARY,
                                         .step = {.kind = STEP_APPLY, .op = op}});
}

static bool end_argument(struct parser *parser, struct waiting **function) {
    if (!emit_operators(parser, 0))
        return false;
    *function = parser->depth > 0 ? &parser->stack[parser->depth - 1] : NULL;
    return *function || fail(parser, "there is no parenthesis to this");
}

static bool close_parenthesis(struct parser *parser) {
    struct waiting *open;
    if (!end_argument(parser, &open))
        return false;
    if (open->kind == WAITING_FUNCTION && open->arguments + 1 != open->arity)
        return fail(parser, "the function has another number of arguments");
    parser->at++;
    parser->depth--;
    return open->kind == WAITING_PARENTHESIS || emit(parser, open->step);
}

static bool next_argument(struct parser *parser) {
    struct waiting *open;
    if (!end_argument(parser, &open))
        return false;
    if (open->kind != WAITING_FUNCTION || open->arguments + 1 >= open->arity)
        return fail(parser, "the function has another number of arguments");
    open->arguments++;
    parser->at++;
    return true;
}

static bool read_operator(struct parser *parser) {
    for (unsigned i = 0; i < OPERATORS; i++) {
        if (!starts_with(parser, operators[i].symbol))
            continue;
        if (!emit_operators(parser, operators[i].binding))
            return false;
        parser->at += strlen(operators[i].symbol);
        return push(parser, (struct waiting){.kind = WAITING_OPERATOR,
                                             .binding = operators[i].binding,
                                             .step = {.kind = STEP_APPLY, .op = operators[i].op}});
    }
    return fail(parser, "an operator is missing");
}

bool expression_parse(struct text text, unsigned operands, struct expression *expression,
                      struct status *status) {
    struct parser parser = {
        .text = text, .operands = operands, .out = expression, .status = status};
    bool complete = false; /* a value was read, and an operator or the end may follow */
    expression->count = 0;
    if (text.length > EXPRESSION_LENGTH_MAX)
        return status_fail(status, STATUS_USAGE, "the expression has %zu characters, more than %d",
                           text.length, EXPRESSION_LENGTH_MAX);
    for (;;) {
        bool ok;
        char c = next(&parser);
        if (!complete) {
            ok = read_value(&parser, &complete);
        } else if (c == '\0') {
            break;
        } else if (c == ')') {
            ok = close_parenthesis(&parser);
        } else if (c == ',') {
            ok = next_argument(&parser);
            complete = false;
        } else {
            ok = read_operator(&parser);
            complete = false;
        }
        if (!ok)
            return false;
    }
    if (!emit_operators(&parser, 0))
        return false;
    return parser.depth == 0 || fail(&parser, "a parenthesis is not closed");
}
