# Reads an export with readers that share no code with ridge and compares it with the trace:
#
#   export_readers.py RIDGE TRACE chrome|perfetto|sqlite EXPORT
#
# What the trace holds comes from `ridge query`. Chrome traces are read with Python's json, databases with
# its sqlite3, Perfetto traces with the small protobuf reader below, whose field numbers are those of
# Perfetto's trace_packet.proto and track_event.proto. Prints one line, and ends with status 1 when the two
# differ.
import json
import sqlite3
import struct
import subprocess
import sys
from collections import Counter, defaultdict
from decimal import Decimal

RIDGE, TRACE, FORMAT, EXPORT = sys.argv[1:5]
EVENTS = ["activity", "call", "range", "mark", "wait", "memory", "sample", "counter", "state"]
faults = []


def query(sql):
    printed = subprocess.run([RIDGE, "query", TRACE, sql, "--json"], capture_output=True, check=True, text=True)
    return [tuple(row.values()) for row in json.loads(printed.stdout)]


def expect(what, found, wanted):
    """Compares two values, or the elements of two collections in any order."""
    if isinstance(wanted, (list, Counter)):
        found, wanted = Counter(found), Counter(wanted)
        if found != wanted:
            faults.append(f"{what}: only in the export {list((found - wanted).items())[:3]}, "
                          f"only in the trace {list((wanted - found).items())[:3]}")
    elif found != wanted:
        faults.append(f"{what}: {found} in the export, {wanted} in the trace")


def stack_paths():
    frames = {id: (parent, function) for id, parent, function in query("SELECT id, parent, function FROM stack")}
    paths = {}
    for id in frames:
        path, at = [], id
        while at:
            at, function = frames[at]
            path.append(function)
        paths[id] = tuple(path)
    return paths


def launched_activities():
    return query("SELECT activity.name, activity.start, call.start AS launched "
                 "FROM activity JOIN call ON call.id = launch")


# ---- sqlite ----


def check_sqlite():
    database = sqlite3.connect(EXPORT)
    expect("integrity", database.execute("PRAGMA integrity_check").fetchone()[0], "ok")
    for table in ["meta", "process", "thread", "device", "queue", "stack"] + EVENTS:
        columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
        known = {row[0] for row in query(f"SELECT \"column\" FROM ridge_columns WHERE \"table\" = '{table}'")}
        shared = ", ".join(f'"{name}"' for name in columns if name in known)
        sql = f'SELECT {shared} FROM "{table}" ORDER BY id'
        found = [tuple(plain(value) for value in row) for row in database.execute(sql)]
        wanted = [tuple(plain(value) for value in row) for row in query(sql)]
        expect(table, found, wanted)


def plain(value):
    """`ridge query` prints numbers from 2^63 on as text, a database holds them as negative ones; what is
    not known is NULL, zero or empty."""
    if isinstance(value, int) and value < 0:
        value += 2**64
    if isinstance(value, str) and value.isdigit() and int(value) >= 2**63:
        value = int(value)
    return None if value == 2**64 - 1 else value or None


# ---- chrome ----


def nanoseconds(microseconds):
    return int(Decimal(microseconds) * 1000)


def check_chrome():
    with open(EXPORT) as file:
        document = json.load(file, parse_float=Decimal)
    base = document.get("baseTimeNanoseconds", 0)
    events = document["traceEvents"]
    for event in events:
        if "ts" in event:
            event["start"] = nanoseconds(event["ts"]) + base
        if "dur" in event:
            event["duration"] = nanoseconds(event["dur"])
    by_category = defaultdict(list)
    for event in events:
        by_category[event["ph"], event.get("cat")].append(event)
    labels = {event["pid"]: event["args"]["labels"].split(" (")[0]
              for event in by_category["M", None] if event["name"] == "process_labels"}

    gpu = by_category["X", "kernel"] + by_category["X", "gpu_memcpy"] + by_category["X", "gpu_memset"]
    expect("kernels", len(by_category["X", "kernel"]), query("SELECT count(*) FROM activity WHERE kind = 'kernel'")[0][0])
    expect("activities", [(e["name"], e["start"], e["duration"], labels.get(e["pid"])) for e in gpu],
           query("SELECT activity.name, start, duration, 'GPU ' || label FROM activity LEFT JOIN queue ON "
                 "queue.id = activity.queue LEFT JOIN device ON device.id = queue.device"))
    expect("queues", len({(e["pid"], e["tid"]) for e in gpu}), query("SELECT count(DISTINCT queue) FROM activity")[0][0])
    expect("copied bytes", sum(e["args"].get("bytes", 0) for e in gpu if e["cat"] != "kernel"),
           query("SELECT coalesce(sum(bytes), 0) FROM activity WHERE kind != 'kernel'")[0][0])
    expect("grids", [tuple(e["args"]["grid"]) for e in gpu if "grid" in e["args"]],
           query("SELECT grid_x, grid_y, grid_z FROM activity WHERE grid_x + grid_y + grid_z > 0"))

    calls = by_category["X", "cuda_runtime"] + by_category["X", "cuda_driver"]
    expect("calls", [(e["name"], e["start"], e["duration"], e["tid"]) for e in calls],
           query("SELECT call.name, start, duration, coalesce(tid, 0) FROM call LEFT JOIN thread ON thread.id = thread"))
    launches = defaultdict(set)
    for event in by_category["s", "ac2g"]:
        launches[event["id"]].add(event["start"])
    arrows = {(e["pid"], e["tid"], e["start"]): e["id"] for e in by_category["f", "ac2g"]}
    joined = [(e["name"], e["start"], start) for e in gpu
              for start in launches[arrows.get((e["pid"], e["tid"], e["start"]))]]
    expect("launches without an arrow", list(Counter(launched_activities()) - Counter(joined)), [])

    known = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "cuda_sync", "thread_state"}
    ranges = [e for (phase, category), list_ in by_category.items() if phase == "X" and category not in known for e in list_]
    expect("ranges", [(e["name"], e["start"], e["duration"]) for e in ranges],
           query("SELECT name, start, duration FROM range"))
    expect("waits", [(e["start"], e["duration"]) for e in by_category["X", "cuda_sync"]],
           query("SELECT start, duration FROM wait"))
    states = by_category["X", "thread_state"]
    expect("states", [(e["name"], e["start"], e["duration"]) for e in states],
           query("SELECT state, start, duration FROM state"))
    memory = [e for e in by_category["i", "cpu_instant_event"] if e["name"] == "[memory]"]
    expect("memory", [(e["start"], e["args"]["Bytes"]) for e in memory],
           query("SELECT time, CASE operation WHEN 'free' THEN -bytes ELSE bytes END FROM memory"))
    marks = [e for (phase, _), list_ in by_category.items() if phase == "i" for e in list_ if e not in memory]
    expect("marks", [(e["name"], e["start"]) for e in marks], query("SELECT name, time FROM mark"))
    counters = [e for (phase, _), list_ in by_category.items() if phase == "C" for e in list_]
    expect("counters", [(e["name"], e["start"], float(e["args"]["value"])) for e in counters],
           [(name, time, float(value)) for name, time, value in query("SELECT name, time, value FROM counter")])
    check_chrome_samples(document, base)


def check_chrome_samples(document, base):
    frames, paths = document.get("stackFrames", {}), stack_paths()

    def path(id):
        while id:
            yield frames[id]["name"]
            id = frames[id].get("parent")

    expect("samples", [(nanoseconds(s["ts"]) + base, tuple(path(s.get("sf")))) for s in document.get("samples", [])],
           [(time, paths.get(stack, ())) for time, stack in query("SELECT time, stack FROM sample")])


# ---- perfetto ----


def fields(message):
    """(number, value) of each field of a protobuf message: an integer, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            yield number, varint()
        elif wire == 1:
            yield number, message[at:at + 8]
            at += 8
        elif wire == 2:
            length = varint()
            yield number, message[at:at + length]
            at += length
        else:
            raise ValueError(f"wire type {wire} in a trace")


def fixed64(data):
    return struct.unpack("<Q", data)[0]


def read_packets():
    """Tracks by uuid, and (track, time, type, name, category, counter, flows) of each track event."""
    interned = {1: {}, 2: {}}  # event_categories, event_names
    tracks, events = {}, []
    with open(EXPORT, "rb") as file:
        trace = file.read()
    for _, packet in fields(trace):  # Trace.packet
        parts = dict(fields(packet))
        for kind, entry in fields(parts.get(12, b"")):  # interned_data
            if kind in interned:
                entry = dict(fields(entry))
                interned[kind][entry[1]] = entry[2].decode()
        if 60 in parts:  # track_descriptor
            track = dict(fields(parts[60]))
            for message in (3, 4):  # process, thread
                if message in track:
                    track[message] = dict(fields(track[message]))
            tracks[track[1]] = track
        if 11 not in parts:  # track_event
            continue
        event, flows, categories = {}, [], []
        for number, value in fields(parts[11]):
            if number == 47:
                flows.append(fixed64(value))
            elif number == 3:
                categories.append(interned[1][value])
            else:
                event[number] = value
        name = interned[2][event[10]] if 10 in event else event.get(23, b"").decode()
        value = struct.unpack("<d", event[44])[0] if 44 in event else event.get(30)
        events.append((event[11], parts[8], event[9], name, categories[0] if categories else "", value, flows))
    return tracks, events


def check_perfetto():
    tracks, events = read_packets()
    slices, instants, counters = [], defaultdict(list), []
    by_track = defaultdict(list)
    for event in events:
        by_track[event[0]].append(event)
    for uuid, list_ in by_track.items():
        expect("the track of an event is described", uuid in tracks, True)
        open_slices = []
        for _, time, type, name, category, value, flows in sorted(list_, key=lambda event: event[1]):
            if type == 1:
                open_slices.append((name, time, category, flows))
            elif type == 2:
                name, start, category, flows = open_slices.pop()
                slices.append((category, name, start, time - start, uuid, flows))
            elif type == 3:
                instants[category].append((name, time, uuid))
            elif category == "counter":
                counters.append((tracks[uuid][2].decode(), time, value))
        expect("open slices at the end", len(open_slices), 0)

    def track_name(uuid):
        return tracks[uuid].get(2, b"").decode()

    for table, name in (("activity", "name"), ("call", "name"), ("range", "name"), ("wait", "kind"), ("state", "state")):
        expect(table, [(s[1], s[2], s[3]) for s in slices if s[0] == table],
               query(f'SELECT coalesce({name}, \'\'), start, duration FROM "{table}"'))
    expect("queues", len({s[4] & (1 << 36) - 1 for s in slices if s[0] == "activity"}),
           query("SELECT count(DISTINCT queue) FROM activity")[0][0])
    labels = sorted((label for label, in query("SELECT 'GPU ' || label FROM device")), key=len, reverse=True)
    expect("devices of activities",
           [(s[2], next(label for label in labels if track_name(tracks[s[4]].get(5)).startswith(label)))
            for s in slices if s[0] == "activity"],
           query("SELECT start, 'GPU ' || label FROM activity JOIN queue ON queue.id = activity.queue "
                 "JOIN device ON device.id = queue.device"))
    threads = {(t[4][1], t[4][2]) for t in tracks.values() if 4 in t}
    wanted = set(query("SELECT pid, tid FROM call JOIN thread ON thread.id = call.thread JOIN process ON "
                       "process.id = thread.process WHERE process.session = 0 AND tid BETWEEN 1 AND 2147483647 AND pid BETWEEN 1 AND 2147483647"))
    expect("threads that are missing", len(wanted - threads), 0)
    starts = defaultdict(set)
    for category, _, start, _, _, flows in slices:
        if category == "call":
            for flow in flows:
                starts[flow].add(start)
    joined = Counter((s[1], s[2], start) for s in slices if s[0] == "activity" for flow in s[5] for start in starts[flow])
    expect("launches without a flow", list(Counter(launched_activities()) - joined), [])
    expect("marks", [i[:2] for i in instants["mark"]], query("SELECT name, time FROM mark"))
    expect("memory", [i[:2] for i in instants["memory"]], query("SELECT operation, time FROM memory"))
    paths = stack_paths()
    expect("samples", [i[:2] for i in instants["sample"]],
           [(paths.get(stack, ("",))[0], time) for time, stack in query("SELECT time, stack FROM sample")])
    expect("counters", counters, query("SELECT name, time, value FROM counter"))


{"chrome": check_chrome, "perfetto": check_perfetto, "sqlite": check_sqlite}[FORMAT]()
print("\n".join(faults) if faults else "equal")
sys.exit(1 if faults else 0)
