#!/usr/bin/env python3
"""A reader of .ridge files, written from docs/trace-format.md alone: the proof that the document
suffices. Prints every table as lines of JSON. Compressed columns need a zstd module (Python 3.14, or
the zstandard package)."""
import json
import struct
import sys

MAGIC = b"\x8eRDG\r\n\x1a\n"
HEADER = struct.Struct("<8sIHHQQIIQqqQQQ")
ENTRY = struct.Struct("<HBBIIIQ")

# In the order of the document: name and type of each column.
TABLES = {
    "META": ("meta", "key:s value:s"),
    "PROC": ("process", "pid:u64 name:s host:s"),
    "THRD": ("thread", "process:PROC tid:i64 name:s"),
    "DEVI": ("device", "index:u32 label:s name:s vendor:s uuid:s memory_bytes:u64 "
             "multiprocessors:u32 clock_hz:u64 bandwidth:u64 compute_major:u32 compute_minor:u32 "
             "warp_size:u32 threads_per_multiprocessor:u32 registers_per_multiprocessor:u32 "
             "shared_per_multiprocessor:u32 listed:u8 blocks_per_multiprocessor:u32 "
             "shared_reserved_per_block:u32"),
    "QUEU": ("queue", "device:DEVI process:PROC context:u64 stream:i64 name:s"),
    "STAK": ("stack", "parent:STAK function:s module:s file:s line:u32 offset:u32 function_line:u32 "
             "statement:u32 source:s loops:s"),
    "ACTI": ("activity", "start:t duration:i64 queue:QUEU kind:u8 name:s correlation:u64 "
             "grid_x:u32 grid_y:u32 grid_z:u32 block_x:u32 block_y:u32 block_z:u32 registers:u32 "
             "shared_static:u32 shared_dynamic:u32 bytes:u64 direction:u8 from_memory:u8 "
             "to_memory:u8 flops:u64 graph:u32 detail:s"),
    "CALL": ("call", "start:t duration:i64 thread:THRD name:s class:u8 correlation:u64 result:i64 "
             "detail:s stack:STAK"),
    "RANG": ("range", "start:t duration:i64 thread:THRD queue:QUEU name:s category:u8 domain:s "
             "detail:s"),
    "MARK": ("mark", "time:t thread:THRD name:s domain:s detail:s"),
    "WAIT": ("wait", "start:t duration:i64 queue:QUEU kind:u8 correlation:u64 awaited:QUEU "
             "event:u64 record_correlation:u64"),
    "MEMO": ("memory", "time:t thread:THRD device:DEVI operation:u8 bytes:u64 address:u64 "
             "allocated:u64 reserved:u64 stack:STAK"),
    "SAMP": ("sample", "time:t thread:THRD stack:STAK weight:i64"),
    "COUN": ("counter", "time:t device:DEVI name:s value:f64"),
    "STAT": ("state", "start:t duration:i64 thread:THRD state:u8 processor:u32 blocked_on:u8 call:s stack:STAK"),
    "USAG": ("usage", "time:t thread:THRD user:i64 kernel:i64 ready:i64"),
    "ALLO": ("allocation", "time:t thread:THRD operation:u8 bytes:u64 address:u64 stack:STAK"),
    "METR": ("metric", "time:t launch:u64 device:DEVI kernel:s grid_x:u32 grid_y:u32 grid_z:u32 "
             "block_x:u32 block_y:u32 block_z:u32 name:s unit:s value:f64 file:s line:u32"),
}
MASK = 2**64 - 1
P1, P2, P3, P4, P5 = (11400714785074694791, 14029467366897019727, 1609587929392839161,
                      9650029242287828579, 2870177450012600261)


def xxh64(data):
    rotate = lambda x, r: (x << r | x >> (64 - r)) & MASK
    stir = lambda lane, value: rotate((lane + value * P2) & MASK, 31) * P1 & MASK
    at = 0
    if len(data) >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, (0 - P1) & MASK]
        while at + 32 <= len(data):
            lanes = [stir(x, v) for x, v in zip(lanes, struct.unpack_from("<4Q", data, at))]
            at += 32
        h = sum(rotate(x, r) for x, r in zip(lanes, (1, 7, 12, 18))) & MASK
        for x in lanes:
            h = ((h ^ stir(0, x)) * P1 + P4) & MASK
    else:
        h = P5
    h = (h + len(data)) & MASK
    while at + 8 <= len(data):
        value, = struct.unpack_from("<Q", data, at)
        h = (rotate(h ^ stir(0, value), 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= len(data):
        value, = struct.unpack_from("<I", data, at)
        h = (rotate(h ^ value * P1 & MASK, 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * P5 & MASK, 11) * P1 & MASK
    h = (h ^ h >> 33) * P2 & MASK
    h = (h ^ h >> 29) * P3 & MASK
    return h ^ h >> 32


def decompress(data, size):
    try:
        from compression import zstd
        return zstd.decompress(data)
    except ImportError:
        import zstandard
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=size)


def chunks(data):
    """(header fields, {column: (entry, stored bytes)}) of every intact chunk."""
    at = 0
    while True:
        at = data.find(MAGIC, at)
        if at < 0 or len(data) - at < HEADER.size:
            return
        header = HEADER.unpack_from(data, at)
        body = data[at + HEADER.size:at + HEADER.size + header[11]]
        if (xxh64(data[at:at + 80]) != header[13] or len(body) < header[11]
                or xxh64(body) != header[12]):
            at += 1
            continue
        columns, place = {}, header[3] * ENTRY.size
        for i in range(header[3]):
            entry = ENTRY.unpack_from(body, i * ENTRY.size)
            stored = 0 if entry[1] == 0 else entry[4]
            columns[entry[0]] = entry, body[place:place + stored]
            place += stored
        at += HEADER.size + header[11]
        yield header, columns


def raw_bytes(entry, stored):
    return decompress(stored, entry[5]) if entry[3] & 1 else stored


def values(column, rows):
    """A column's values as unsigned 64-bit integers; zeros where the chunk has no such column."""
    if column is None:
        return [0] * rows
    entry, stored = column
    encoding, width, base = entry[1], entry[2], entry[6]
    if encoding == 0:
        return [base] * rows
    planes = raw_bytes(entry, stored)
    plain = [sum(planes[k * rows + i] << 8 * k for k in range(width)) for i in range(rows)]
    if encoding == 1:
        return plain
    result, value = [], base
    for z in plain:
        value = (value + (z >> 1 ^ -(z & 1))) & MASK
        result.append(value)
    return result


def meaning(kind, value):
    if kind in ("t", "i64"):
        return value - 2**64 if value >> 63 else value
    if kind == "f64":
        return struct.unpack("<d", struct.pack("<Q", value))[0]
    return value


def main(path):
    whole = list(chunks(open(path, "rb").read()))
    strings = {}
    for header, columns in whole:
        if header[1] == int.from_bytes(b"STRN", "little"):
            text, at = raw_bytes(*columns[1]), 0
            for i, length in enumerate(values(columns[0], header[7])):
                strings[header[4:6], header[8] + i] = text[at:at + length].decode("utf-8", "replace")
                at += length
    for header, columns in whole:
        name = header[1].to_bytes(4, "little").decode("latin-1")
        if name not in TABLES:
            continue
        table, schema = TABLES[name]
        rows = [{"table": table, "id": header[8] + i} for i in range(header[7])]
        for number, column in enumerate(schema.split()):
            column_name, kind = column.split(":")
            for row, value in zip(rows, values(columns.get(number), header[7])):
                row[column_name] = (strings.get((header[4:6], value), "") if kind == "s"
                                    else meaning(kind, value))
        for row in rows:
            print(json.dumps(row))


if __name__ == "__main__":
    main(sys.argv[1])
