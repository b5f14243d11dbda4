# Hostile names in a trace, and file names, as every command prints them on a terminal: nothing that
# controls it gets there. Files and pipes get JSON and CSV unchanged.
command -v python3 > /dev/null || { echo "SKIP there is no python3" && exit 77; }
cat > terminal.py << 'END'
import os, pty, sys

HOSTILE = [*range(0x20), 0x7F, *range(0x80, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F),
           *range(0x2066, 0x206A)]
LAYOUT = {0x09, 0x0A, 0x0D}
COLORS = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"]


def on_terminal(*arguments):
    """What a command prints on a terminal that is its standard output and error."""
    child, master = pty.fork()
    if child == 0:
        os.environ.pop("NO_COLOR", None)
        os.execv(os.environ["RIDGE"], ["ridge", *arguments])
    printed = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        printed += part
    os.close(master)
    os.waitpid(child, 0)
    return printed


def check(what, *arguments):
    printed = on_terminal(*arguments)
    try:
        text = printed.decode()
    except UnicodeDecodeError as error:
        print(what, "is not UTF-8:", error)
        return
    for color in COLORS:
        text = text.replace(color, "")
    text = text.replace("\r\r\n", "\n").replace("\r\n", "\n")
    found = sorted({ord(c) for c in text} & set(HOSTILE) - {0x09, 0x0A})
    print(f"{what}: {'nothing hostile' if not found else [hex(c) for c in found]}"
          f"{'' if 'evil' in text else ', but the name is missing: ' + text[:200]}")


name = "evil" + "".join(chr(c) for c in HOSTILE[1:]) + "=1"  # no NUL: it ends a name in JSON
events = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 10, "dur": 5,
           "args": {"device": 0, "stream": 7, "correlation": 1}},
          {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 8,
           "dur": 1, "args": {"correlation": 1}},
          {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 1, "dur": 30}]
import json
path = "evil\x1b[31m\u202e\x9b\u2028.json"
open(path, "w").write(json.dumps({"schemaVersion": 1, "traceEvents": events}))
for style in ("text", "md", "csv", "json"):
    check(f"report {style}", "report", "--format", style, path)
    check(f"query {style}", "query", "--format", style, path, "SELECT name, 'a' || char(27, 0, 155) FROM activity")
check("info", "info", path)
check("info json", "info", "--json", path)
check("whatif", "whatif", path, "--all")
check("export csv", "export", "--format", "csv", path, "-o", "-")
check("export chrome", "export", "--format", "chrome", path, "-o", "-")
check("import", "import", path, "-o", "evil\x1b.ridge")
check("an unreadable file", "report", "no evil\x1b\u202e\x9bfile")
check("bytes that are not UTF-8", "report", b"no evil\xff\xfefile")
check("an unknown command", "evil\x1b\u2066")
check("an unknown range", "report", path, "--range", "evil\x1b")
END
python3 terminal.py

echo "a pipe gets JSON and CSV unchanged:"
python3 - << 'END'
import csv, glob, io, json, os, subprocess
path = glob.glob("evil*.json")[0]
run = lambda *arguments: subprocess.run([os.environ["RIDGE"], *arguments], stdout=subprocess.PIPE, check=True).stdout
name = json.load(open(path))["traceEvents"][0]["name"]
printed = run("query", "--json", path, "SELECT name FROM activity")
print("json", json.loads(printed)[0]["name"] == name,
      any(ord(c) in (0x9B, 0x061C, 0x2028, 0x202E, 0x2066) for c in printed.decode()))
rows = list(csv.reader(io.StringIO(run("query", "--format", "csv", path, "SELECT name FROM activity").decode(), newline="")))
print("csv", rows[1][0] == name)
END
echo "no field of CSV is a formula, and numbers stay numbers:"
"$RIDGE" query --format csv "$TESTS/format/example.ridge" "SELECT '=1+1' AS a, '+x' AS b, '-x' AS c, '@x' AS d,
    char(9) || 'x' AS e, char(13) || 'x' AS f, -5 AS g, -1.5e-9 AS h, '-7' AS i, 'a=b' AS j" | tr '\t\r' '^$'
