"""A writer of .ridge files, from docs/trace-format.md: no compression, every column plain or constant."""

import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "format"))
import read_ridge  # noqa: E402

CODES = {name: code for code, (name, _) in read_ridge.TABLES.items()}
COLUMNS = {name: [tuple(column.split(":")) for column in columns.split()]
           for name, columns in read_ridge.TABLES.values()}
ENTITIES = ["meta", "process", "thread", "device", "queue", "stack"]


def bits(kind, value):
    if kind == "f64":
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    return value & read_ridge.MASK


class RidgeFile:
    """One writer. add() returns the row's id, which other rows refer to."""

    def __init__(self, session=1, writer=1):
        self.session, self.writer, self.sequence = session, writer, 0
        self.strings, self.rows = {"": 0}, {name: [] for name in COLUMNS}

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def add(self, table, **values):
        self.rows[table].append([bits(kind, self.string(values.pop(name, "")) if kind == "s" else values.pop(name, 0))
                                 for name, kind in COLUMNS[table]])
        assert not values, f"{table} has no {values}"
        return len(self.rows[table])

    def meta(self, key, value):
        self.add("meta", key=key, value=str(value))

    def chunk(self, code, columns, rows, times=(0, 0)):
        """`columns` has (number, encoding, width, base, bytes) of each."""
        body = b"".join(read_ridge.ENTRY.pack(number, encoding, width, 0, len(stored), len(stored), base)
                        for number, encoding, width, base, stored in columns)
        body += b"".join(column[4] for column in columns)
        header = read_ridge.HEADER.pack(read_ridge.MAGIC, int.from_bytes(code.encode(), "little"), 1, len(columns),
                                        self.session, self.writer, self.sequence, rows, 1, *times, len(body),
                                        read_ridge.xxh64(body), 0)[:80]
        self.sequence += 1
        return header + struct.pack("<Q", read_ridge.xxh64(header)) + body

    @staticmethod
    def encode(number, values):
        if all(value == values[0] for value in values):
            return number, 0, 0, values[0], b""
        width = (max(values).bit_length() + 7) // 8
        return number, 1, width, 0, b"".join(bytes(value >> 8 * k & 255 for value in values) for k in range(width))

    def table(self, name):
        rows, times = self.rows[name], (0, 0)
        if name not in ENTITIES:
            signed = [struct.unpack("<2q", struct.pack("<2Q", *row[:2])) for row in rows]
            lasts = COLUMNS[name][1][0] == "duration"
            times = min(row[0] for row in signed), max(row[0] + (row[1] if lasts else 0) for row in signed)
        columns = [self.encode(i, [row[i] for row in rows]) for i in range(len(COLUMNS[name]))]
        return self.chunk(CODES[name], columns, len(rows), times)

    def bytes(self):
        """The file, with the mark of its end."""
        texts = [text.encode() for text in self.strings if text]
        lengths = self.encode(0, [len(text) for text in texts])
        out = self.chunk("STRN", [lengths, (1, 3, 0, 0, b"".join(texts))], len(texts))
        out += b"".join(self.table(name) for name in COLUMNS if self.rows[name])
        types = [int.from_bytes(CODES[name].encode(), "little") for name in COLUMNS]
        counts = [len(self.rows[name]) for name in COLUMNS]
        return out + self.chunk("END ", [self.encode(0, types), self.encode(1, counts)], len(types))
