# Compares two JSON reports of one trace, before and after it went through an export:
#
#   round_trip.py BEFORE.json AFTER.json
#
# Left out: the file's name, what times were counted from, and which of two elements of a list comes
# first where both have the same rank. Prints the differences and ends with status 1 when there are any.
import json
import sys

CHANGED_NOTES = {"source.file", "original.source.file", "clock.offset_ns"}
RANKS = ("self_ns", "total_ns", "time_ns", "duration_ns", "host_ns")


def ordered(value):
    """Lists in one order, each with the ranks of its elements in the order that it had."""
    if isinstance(value, dict):
        return {key: ordered(member) for key, member in value.items()}
    if not isinstance(value, list):
        return value
    rows = [element for element in value if isinstance(element, dict)]
    ranks = [next((row[rank] for rank in RANKS if rank in row), None) for row in rows]
    elements = sorted(map(ordered, value), key=lambda element: json.dumps(element, sort_keys=True))
    return {"ranks": {str(place): rank for place, rank in enumerate(ranks)}, "elements": elements}


def load(path):
    with open(path) as file:
        report = json.load(file)
    del report["trace"]["name"]
    report["trace"]["meta"] = [note for note in report["trace"]["meta"] if note["key"] not in CHANGED_NOTES]
    return ordered(report)


def differences(before, after, place):
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from differences(before.get(key), after.get(key), f"{place}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after)):
            yield from differences(*pair, f"{place}[{index}]")
    elif before != after:
        yield f"{place} was {str(before)[:100]}, is {str(after)[:100]}"


found = list(differences(load(sys.argv[1]), load(sys.argv[2]), "report"))
print("\n".join(found[:20]) if found else "the same report")
sys.exit(1 if found else 0)
