# A reader written from docs/trace-format.md alone sees what ridge sees, and the bytes that the
# document shows are those of the file.
command -v python3 > /dev/null || { echo "SKIP there is no python3" && exit 77; }
"$RIDGE" query "$TESTS/format/example.ridge" "SELECT 1" > /dev/null 2> said || {
    grep -q "no SQLite" said && echo "SKIP this build has no SQLite" && exit 77
}
python3 "$TESTS/format/read_ridge.py" "$TESTS/format/example.ridge" > rows.json
"$RIDGE" query "$TESTS/format/example.ridge" --json \
    "SELECT name, start, duration, queue, correlation FROM activity" > activities.json
python3 - "$TESTS" << 'END'
import json, re, sys
rows = [json.loads(line) for line in open("rows.json")]
mine = [{k: row[k] for k in ("name", "start", "duration", "queue", "correlation")}
        for row in rows if row["table"] == "activity"]
theirs = json.load(open("activities.json"))
print("the same activities" if mine == theirs and len(mine) == 3 else (mine, theirs))
print(sorted({row["table"] for row in rows}))
data = open(sys.argv[1] + "/format/example.ridge", "rb").read()
shown = 0
for line in open(sys.argv[1] + "/../docs/trace-format.md"):
    match = re.match(r"([0-9A-F]{3})  ((?:[0-9A-F]{2} )*[0-9A-F]{2})(?:   |$)", line)
    if match:
        at, part = int(match[1], 16), bytes.fromhex(match[2])
        shown += 1
        if data[at:at + len(part)] != part:
            print("the document is wrong:", line)
print(shown, "lines of bytes in the document")
END
