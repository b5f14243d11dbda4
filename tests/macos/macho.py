"""Reads a Mach-O file: architecture, kind, minimum system, libraries, sections and exported names.

    macho.py FILE        prints these as lines `word value`
"""
import struct
import sys

CPUS = {0x01000007: "x86_64", 0x0100000C: "arm64"}
KINDS = {2: "program", 6: "library"}
SEGMENT_64, SYMTAB, RPATH, BUILD_VERSION = 0x19, 0x2, 0x8000001C, 0x32
DYLIBS = {0xC: "library", 0xD: "name", 0x80000018: "weak"}
UNDEFINED, EXTERNAL, PRIVATE, STAB = 0x0, 0x01, 0x10, 0xE0


def text_at(data, offset):
    return data[offset : data.index(b"\0", offset)].decode()


def segment(data, at):
    count = struct.unpack_from("<I", data, at + 64)[0]
    for i in range(count):
        section = at + 72 + 80 * i
        names = [data[section + k : section + k + 16].rstrip(b"\0").decode() for k in (16, 0)]
        yield "section", ",".join(names)


def symbols(data, at):
    table, count, strings, _ = struct.unpack_from("<4I", data, at + 8)
    for i in range(count):
        name, kind, section, _, _ = struct.unpack_from("<IBBHQ", data, table + 16 * i)
        if kind & STAB or not kind & EXTERNAL or kind & PRIVATE:
            continue
        yield ("imports" if section == UNDEFINED else "exports"), text_at(data, strings + name)


def read(path):
    data = open(path, "rb").read()
    magic, cpu, _, kind, commands, _, _, _ = struct.unpack_from("<8I", data, 0)
    if magic != 0xFEEDFACF:
        raise ValueError(f"{path} is not a 64-bit Mach-O file")
    yield "cpu", CPUS.get(cpu, hex(cpu))
    yield "kind", KINDS.get(kind, hex(kind))
    at = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<2I", data, at)
        if command in DYLIBS:
            yield DYLIBS[command], text_at(data, at + struct.unpack_from("<I", data, at + 8)[0])
        elif command == RPATH:
            yield "rpath", text_at(data, at + struct.unpack_from("<I", data, at + 8)[0])
        elif command == BUILD_VERSION:
            version = struct.unpack_from("<I", data, at + 12)[0]
            yield "minimum", f"{version >> 16}.{version >> 8 & 255}"
        elif command == SEGMENT_64:
            yield from segment(data, at)
        elif command == SYMTAB:
            yield from symbols(data, at)
        at += size


if __name__ == "__main__":
    for word, value in read(sys.argv[1]):
        print(word, value)
