"""Finds the places of a C source where a small change should break a test, and writes the source with all
of them compiled in. A site `a < b` becomes `(mutant_is(17) ? (a <= b) : (a < b))`.

Sites are in function bodies only. Declarations without an initializer, static initializers, case labels,
macro arguments, sizeof and code for other platforms (#if) have none."""

import re
from dataclasses import dataclass

TOKEN = re.compile(r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<directive>(?<![^\n])[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<char>[uUL]?'(?:\\.|[^'\\\n])*')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9a-zA-Z_.])*)
  | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
  | (?P<mark>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&^|]=|[-+*/%&|^~!<>=?:;,.(){}\[\]])
""", re.S | re.X)

PRECEDENCE = {"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, ">": 7, "<=": 7, ">=": 7,
              "==": 6, "!=": 6, "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
           "+": "-", "-": "+"}
KIND = {"&&": "and-or", "||": "and-or", "+": "plus-minus", "-": "plus-minus"}
TYPE_WORDS = set("void char short int long float double signed unsigned bool const volatile struct union enum "
                 "static extern register typedef _Alignas FILE va_list DIR _Atomic Bytef Elf64_Ehdr".split())
STATEMENT_WORDS = {"if", "else", "while", "for", "do", "switch", "case", "default", "return", "break",
                   "continue", "goto"}
# Without these calls memory or a descriptor leaks; only a leak checker would notice.
RELEASES = re.compile(r"(^|_)(free|close|release|destroy|munmap|madvise|fadvise|fclose|closedir|prefetch|setvbuf)$|"
                      r"^(map|intern|buffer|arena)_finish$")
RELEASING = re.compile(r"(finish|free|close|destroy)$")
# Descriptor 0 is the standard input; no call that opens something returns it.
DESCRIPTOR = re.compile(r"(^|[._>])fd$")
# Functions of two arguments whose order does not matter.
SYMMETRIC = re.compile(r"^(memory_\w+|__builtin_(add|mul)_overflow|at_most|at_least|(mem|str|strn|strcase|strncase)cmp|text_equal|f?min|f?max|least|most|smaller|larger)$")


@dataclass
class Token:
    kind: str
    text: str
    start: int
    line: int


@dataclass
class Site:
    path: str
    line: int
    last_line: int
    function: str
    kind: str
    start: int  # offsets of the replaced text
    end: int
    before: str
    after: str
    statement: bool = False  # the whole statement is left out
    pure: bool = False  # evaluating both has no effect and cannot fail
    inverse: bool = False  # the opposite of the whole expression
    id: int = 0

    def key(self):
        return f"{self.path} {self.function}", self.before, self.after


def tokenize(text):
    tokens, line, position, conditions = [], 1, 0, []
    while position < len(text):
        match = TOKEN.match(text, position)
        if not match:
            raise ValueError(f"line {line}: cannot read {text[position:position + 20]!r}")
        kind, word = match.lastgroup, match.group()
        if kind == "directive":
            follow_condition(word.strip().lstrip("#").strip(), conditions)
        elif kind != "space":
            tokens.append(Token(kind if all(conditions) else "excluded", word, position, line))
        line += word.count("\n")
        position = match.end()
    return tokens


def follow_condition(directive, conditions):
    """Keeps for each open #if whether its code has sites: it does where it is about Linux."""
    if directive.startswith("if"):
        conditions.append(re.search(r"__linux__|RIDGE_HAVE", directive) is not None and "!" not in directive
                          and not directive.startswith("ifndef"))
    elif directive.startswith(("elif", "else")):
        conditions[-1] = False
    elif directive.startswith("endif"):
        conditions.pop()


class Source:
    def __init__(self, path, text):
        self.path, self.text = path, text
        self.tokens = tokenize(text)
        self.sites, self.function, self.compares = [], "", False
        self.match = self.match_brackets()
        self.find_functions()

    # ---- tokens ----

    def match_brackets(self):
        match, opened = {}, []
        for i, token in enumerate(self.tokens):
            if token.kind == "mark" or token.kind == "excluded":
                if token.text in "([{":
                    opened.append(i)
                elif token.text in ")]}" and opened:
                    j = opened.pop()
                    match[i], match[j] = j, i
        return match

    def word(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def words(self, first, end):
        """The tokens as text on one line."""
        out = ""
        for i in range(first, end):
            token = self.tokens[i]
            if i > first:
                previous = self.tokens[i - 1]
                out += " " if previous.start + len(previous.text) != token.start else ""
            out += token.text
        return out

    # ---- functions and statements ----

    def find_functions(self):
        i = 0
        while i < len(self.tokens):
            if self.word(i) == "{":
                if self.word(i - 1) == ")":
                    self.function = self.function_name(i)
                    parameters = self.words(self.match[i - 1] + 1, i - 1)
                    self.compares = parameters.count("const void *") == 2
                    self.block(i)
                i = self.match.get(i, len(self.tokens))
            i += 1

    def function_name(self, body):
        i = self.match[body - 1]
        return self.word(i - 1)

    def block(self, opening):
        i, end = opening + 1, self.match[opening]
        while i < end:
            i = self.statement(i)

    def semicolon(self, i):
        while self.word(i) != ";":
            i = self.match[i] + 1 if self.word(i) in ("(", "[", "{") else i + 1
        return i

    def statement(self, i):
        """Finds the sites of the statement at i; returns where the next one begins."""
        word = self.word(i)
        if word == "{":
            self.block(i)
            return self.match[i] + 1
        if word in ("if", "while", "switch"):
            close = self.match[i + 1]
            self.expression(i + 2, close)
            if word == "if":
                self.negation(i + 2, close)
            i = self.statement(close + 1)
            return self.statement(i + 1) if word == "if" and self.word(i) == "else" else i
        if word == "for":
            return self.for_loop(i)
        if word == "do":
            i = self.statement(i + 1)
            self.expression(i + 2, self.match[i + 1])
            return self.match[i + 1] + 2
        if word in ("case", "default"):
            while self.word(i) != ":":
                i += 1
            return self.statement(i + 1) if self.word(i + 1) != "}" else i + 1
        if self.tokens[i].kind == "name" and self.word(i + 1) == ":":
            return i + 2
        end = self.semicolon(i)
        if word == "return":
            self.expression(i + 1, end)
        elif word in ("break", "continue"):
            self.dropped(i, end)
        elif word != "goto" and word != ";":
            self.declaration_or_expression(i, end)
        return end + 1

    def for_loop(self, i):
        close = self.match[i + 1]
        first = self.semicolon(i + 2)
        second = self.semicolon(first + 1)
        if self.is_declaration(i + 2):
            self.declaration(i + 2, first)
        else:
            self.expression(i + 2, first)
        self.expression(first + 1, second)
        return self.statement(close + 1)

    def is_declaration(self, i):
        token, following = self.tokens[i], self.tokens[i + 1]
        if token.kind != "name":
            return False
        if token.text in TYPE_WORDS or token.text.endswith("_t"):
            return True
        if following.kind == "name":
            return True
        if following.text == "*" and self.word(i + 2) == "const":
            return True
        return following.text == "*" and self.tokens[i + 2].kind == "name" and self.word(i + 3) in "=;,["

    def declaration_or_expression(self, i, end):
        if self.is_declaration(i):
            self.declaration(i, end)
        elif not self.word(i).startswith("_") and not self.word(i).isupper():
            self.expression(i, end)
            self.dropped(i, end)

    def declaration(self, i, end):
        if self.word(i) in ("static", "extern", "typedef") or self.word(i).startswith("_Static"):
            return
        while i < end:
            word = self.word(i)
            if word == "=":
                start = i + 1
                while i < end and self.word(i) != ",":
                    i = self.match[i] + 1 if self.word(i) in ("(", "[", "{") else i + 1
                self.expression(start, i)
            elif word == "{":
                return
            elif word in ("(", "["):
                i = self.match[i]
            i += 1

    # ---- sites ----

    def add(self, kind, first, end, after, **more):
        if any(token.kind == "excluded" for token in self.tokens[first:end]):
            return
        a, b = self.tokens[first], self.tokens[end - 1]
        self.sites.append(Site(self.path, a.line, b.line, self.function, kind, a.start, b.start + len(b.text),
                               self.words(first, end), after, **more))

    def negation(self, first, end):
        """`!(a == b)` is the comparison's own mutant."""
        whole = self.tokens[first].start, self.tokens[end - 1].start + len(self.tokens[end - 1].text)
        if not any(site.inverse and (site.start, site.end) == whole for site in self.sites):
            self.add("negated", first, end, f"!({self.words(first, end)})")

    def dropped(self, first, end):
        called = self.word(first) if self.word(first + 1) == "(" else ""
        if RELEASES.search(called) or (called.endswith("_finish") and RELEASING.search(self.function)):
            return
        if self.word(first) == "(" and self.word(first + 1) == "void":
            return
        if RELEASING.search(self.function) and (called == "memset" or self.words(first, end).endswith("){0}")):
            return  # the memory is not used again
        self.add("dropped", first, end + 1, "", statement=True)

    def expression(self, first, end):
        i = first
        while i < end:
            token = self.tokens[i]
            skipped = self.not_evaluated(i)
            if skipped:
                i = skipped
                continue
            if token.text == "(" and self.is_type(i):
                i = self.match[i] + 1
                continue
            if token.kind == "number":
                self.constant(i)
            elif token.text in ("true", "false"):
                self.add("constant", i, i + 1, "false" if token.text == "true" else "true")
            elif token.text in SWAPPED and self.is_binary(i, first):
                self.binary(i, first, end)
            elif token.text in ("+=", "-="):
                self.assignment(i, first, end)
            elif token.text == "(" and i > first and self.tokens[i - 1].kind == "name":
                self.arguments(i)
            i += 1

    def not_evaluated(self, i):
        """The end of a macro's arguments or of sizeof, when one begins here."""
        word = self.word(i)
        if self.tokens[i].kind == "name" and self.word(i + 1) == "(":
            if word in ("sizeof", "offsetof", "va_arg", "assert") or (word.isupper() and len(word) > 1):
                return self.match[i + 1] + 1
        if word == "sizeof":
            i += 1
            while self.word(i) in ("*", "&"):
                i += 1
            i += 1
            while self.word(i) in (".", "->", "["):
                i = self.match[i] + 1 if self.word(i) == "[" else i + 2
            return i
        return 0

    def is_type(self, i):
        """Whether the parentheses that open at i hold a type: a cast or a compound literal."""
        inside = self.tokens[i + 1:self.match[i]]
        if not inside or inside[0].kind != "name":
            return False
        named = [t.text for t in inside if t.kind == "name"]
        return (inside[0].text in TYPE_WORDS or inside[0].text.endswith("_t") or inside[-1].text == "*") and \
            all(t.kind in ("name", "number") or t.text in ("*", "[", "]", "(", ")") for t in inside) and len(named) > 0

    def is_binary(self, i, first):
        if i <= first:
            return False
        previous = self.tokens[i - 1]
        if previous.kind in ("number", "string", "char"):
            return True
        if previous.kind == "name":
            return previous.text not in STATEMENT_WORDS and previous.text != "sizeof"
        if previous.text == ")":
            opening = self.match[i - 1]
            return self.word(opening - 1) == "sizeof" or not self.is_type(opening)
        return previous.text in ("]", "}", "++", "--")

    def left(self, i, first, precedence):
        j = i
        while j > first:
            word = self.word(j - 1)
            if word in (")", "]", "}"):
                if self.match[j - 1] < first:
                    break
                j = self.match[j - 1]
                continue
            if word in ("(", "[", "{", ",", ";", "?", ":") or word in ASSIGNMENTS or word in STATEMENT_WORDS:
                break
            if word in PRECEDENCE and PRECEDENCE[word] < precedence and self.is_binary(j - 1, first):
                break
            j -= 1
        return j

    def right(self, i, end, precedence):
        j = i + 1
        while j < end:
            word = self.word(j)
            if word in ("(", "[", "{"):
                j = self.match[j] + 1
                continue
            if word in (")", "]", "}", ",", ";", "?", ":") or word in ASSIGNMENTS:
                break
            if word in PRECEDENCE and PRECEDENCE[word] <= precedence and j > i + 1 and self.is_binary(j, i + 1):
                break
            j += 1
        return j

    def binary(self, i, first, end):
        word = self.word(i)
        a, b = self.left(i, first, PRECEDENCE[word]), self.right(i, end, PRECEDENCE[word])
        if a == i or b == i + 1 or self.is_minimum(a, i, b) or self.never_equal(a, i, b):
            return
        if word in ("<", ">=") and self.words(i + 1, b) == "0" and DESCRIPTOR.search(self.words(a, i)):
            return
        changed = f"{self.words(a, i)} {SWAPPED[word]} {self.words(i + 1, b)}"
        self.add(KIND.get(word, "comparison"), a, b, changed, inverse=word in ("==", "!="),
                 pure=word not in ("&&", "||") and self.is_pure(a, b))

    def is_pure(self, first, end):
        """Without calls and assignments, and with nothing that only another operand makes safe."""
        words = [self.word(i) for i in range(first, end)]
        if any(word in ASSIGNMENTS or word in ("++", "--", "&&", "||", "?", "/", "%", "{") for word in words):
            return False
        return not any(self.word(i) == "(" and self.tokens[i - 1].kind == "name" for i in range(first + 1, end))

    def is_minimum(self, a, i, b):
        """`x < y ? x : y` and `x > y ? x - y : 0`: equal values give the same either way."""
        if self.word(i) not in ("<", "<=", ">", ">=") or self.word(b) != "?":
            return False
        left, right = self.words(a, i), self.words(i + 1, b)
        end = b + 1 + b - a
        if self.word(i) in (">", ">=") and self.words(b + 1, end) == f"{left} - {right}" and \
                self.word(end) == ":" and self.word(end + 1) == "0":
            return True
        middle, last = b + 1 + i - a, b + 1 + b - i - 1
        chosen = [(left, right, middle), (right, left, last)]
        return any(self.words(b + 1, colon) == first and self.word(colon) == ":" and
                   self.words(colon + 1, b + 1 + b - a) == second for first, second, colon in chosen)

    def never_equal(self, a, i, b):
        """`if (x != y) return x < y ? ...`, and `if (x < y) x = y;`, where equal values give the same."""
        if self.word(i) not in ("<", "<=", ">", ">=") or self.word(a - 1) not in ("(", "return"):
            return False
        left, right = self.words(a, i), self.words(i + 1, b)
        if self.word(a - 1) == "return":
            opening = self.match.get(a - 2, 0) if self.word(a - 2) == ")" else 0
            return self.word(b) == "?" and self.word(opening - 1) == "if" and \
                self.words(opening + 1, a - 2) in (f"{left} != {right}", f"{right} != {left}")
        if self.word(a - 2) != "if" or self.match[a - 1] != b:
            return False
        end = min(b + 1 + b - a, len(self.tokens) - 1)
        return self.word(end) == ";" and self.words(b + 1, end) in (f"{left} = {right}", f"{right} = {left}")

    def assignment(self, i, first, end):
        a, b = self.left(i, first, -1), i + 1
        while b < end and self.word(b) not in (",", ")", ";"):
            b = self.match[b] + 1 if self.word(b) in ("(", "[", "{") else b + 1
        other = "-=" if self.word(i) == "+=" else "+="
        self.add("plus-minus", a, b, f"{self.words(a, i)} {other} {self.words(i + 1, b)}")

    def constant(self, i):
        word = self.word(i)
        if self.word(i - 1) == "{" and self.word(i + 1) == "}":
            return  # {0}
        if "hash" in self.function.split("_"):
            return  # another hash function
        if re.fullmatch(r"[0-9.]+(e[-+]?[0-9]+)?f?", word) and ("." in word or "e" in word):
            changed = "1.0" if float(word.rstrip("f")) == 0 else f"{word} * 2"
        elif word.rstrip("uUlL") == "0":
            changed = "1"
        elif word == "1" and self.compares and self.word(i - 1) in ("-", ":", "?"):
            changed = "1 - 1"  # only the sign of an order counts
        elif word == "1" and self.word(i - 1) == "-" and not self.is_binary(i - 1, 0):
            changed = "1 - 1"  # of -1 too
        else:
            changed = f"{word} + 1" if self.tokens[i].start % 2 else f"{word} - 1"
        self.add("constant", i, i + 1, changed)

    def arguments(self, opening):
        """Swaps one pair of neighboring arguments. The compiler rejects the pairs of unlike types."""
        name, close = self.word(opening - 1), self.match[opening]
        if name in STATEMENT_WORDS or RELEASES.search(name) or "atomic" in name or SYMMETRIC.search(name) or \
                self.word(opening - 2) in (".", "->"):
            return
        starts, i = [opening + 1], opening + 1
        while i < close:
            if self.word(i) == ",":
                starts.append(i + 1)
            i = self.match[i] + 1 if self.word(i) in ("(", "[", "{") else i + 1
        starts.append(close + 1)
        parts = [self.words(a, b - 1) for a, b in zip(starts, starts[1:])]
        for k in range(len(parts) - 1):
            if parts[k] != parts[k + 1] and not any('"' in p or "status" in p for p in parts[k:k + 2]):
                changed = parts[:k] + [parts[k + 1], parts[k]] + parts[k + 2:]
                self.add("swapped", opening - 1, close + 1, f"{name}({', '.join(changed)})")
                return

    # ---- the source with its mutants ----

    def rewritten(self, sites):
        """Only one mutant is on at a time, so the changed text has the plain source of inner sites."""
        ordered = sorted(sites, key=lambda s: (s.start, -s.end, not s.statement, s.kind))
        return render(self.text, 0, len(self.text), ordered)


def render(text, start, end, sites):
    out, position, i = "", start, 0
    while i < len(sites):
        site = sites[i]
        j = i + 1
        while j < len(sites) and sites[j].start < site.end:
            j += 1
        out += text[position:site.start]
        inner = render(text, site.start, site.end, sites[i + 1:j])
        if site.statement:
            out += f"{{ if (!mutant_is({site.id})) {inner} }}"
        elif site.pure:
            out += f"(mutant_differs({site.id}, mutant_reached && ({site.after}) != ({site.before})) ? " \
                f"({site.after}) : ({inner}))"
        else:
            out += f"(mutant_is({site.id}) ? ({site.after}) : ({inner}))"
        position, i = site.end, j
    return out + text[position:end]
