# The Python module: it records its own process, marks ranges, and reads reports; pip installs it with
# the command and the probe.
[ -z "${SAN:-}" ] || { echo "SKIP a library with sanitizers cannot be loaded into python3" && exit 77; }
command -v python3 > /dev/null || { echo "SKIP there is no python3" && exit 77; }
python3 -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 8))' 2> /dev/null ||
    { echo "SKIP python3 is older than 3.8 or has no ctypes" && exit 77; }
source=$(cd "$TESTS/.." && pwd)
build=$(cd "$(dirname "$RIDGE")" && pwd)
export PYTHONDONTWRITEBYTECODE=1
cat > program.py <<'END'
import ridge, sys, time, warnings
warnings.simplefilter("error")

@ridge.range("inner")
def inner(depth):
    return depth and inner(depth - 1)

with ridge.range("before"):
    pass
try:
    with ridge.record("module.ridge"):
        with ridge.range("outer"):
            inner(2)
        time.sleep(0.05)
except ridge.Warning as warning:
    print("SKIP", warning)
    sys.exit(77)
with ridge.range("behind"):
    pass
report = ridge.report("module.ridge")
print(sorted((one.name, one["count"]) for one in report.ranges.list))
print("iframe" in report._repr_html_(), str(report).startswith("module.ridge"))
threads = report.cpu.threads if "cpu" in report else []
print(all(one.running_ns + one.ready_ns + one.blocked_ns + one.unknown_ns == one.wall_ns for one in threads))
try:
    ridge.report("missing.ridge")
except RuntimeError as error:
    print("missing.ridge" in str(error))
@ridge.record("/nowhere/at/all.ridge")
def unrecorded():
    return 5
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(unrecorded(), [one.category.__name__ for one in caught])
END
RIDGE=$RIDGE PYTHONPATH=$source/python python3 program.py
status=$?
[ $status = 0 ] || exit $status
export RIDGE_PREBUILT=$build
python3 -m venv venv > /dev/null 2>&1 && venv/bin/python -m pip --version > /dev/null 2>&1 ||
    { echo "SKIP python3 -m venv does not work" && exit 77; }
venv/bin/python -m pip install -q --no-index --disable-pip-version-check "$source" 2> errors ||
    { grep -qi 'pip.*too old\|isolated' errors && echo "SKIP pip does not build offline" && exit 77; cat errors; }
(unset RIDGE PYTHONPATH; cd / && "$OLDPWD/venv/bin/python" -c '
import os, ridge
print(os.path.relpath(ridge.command(), os.sys.prefix), os.path.relpath(ridge.__file__, os.sys.prefix).endswith("site-packages/ridge/__init__.py"))')
venv/bin/ridge --version | sed 's/[0-9.]*$/VERSION/'
[ -f venv/lib/ridge/libridge-probe.so ] || [ -f venv/lib/ridge/libridge-probe.dylib ] && echo "the probe is installed"
venv/bin/python -m pip uninstall -q -y ridge && find venv -name '*ridge*' | grep -v pip
true
