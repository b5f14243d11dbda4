# The lines of a C program: of its launches (tests/fixtures/native_lines.c on the fake CUDA driver of
# tests/probe), of its loops, and of its samples, in each version of DWARF.
[ -z "${SAN:-}" ] || { echo "SKIP a probe with a sanitizer needs a program with it" && exit 77; }
[ "$(uname -s)" = Linux ] || { echo "SKIP the fake CUDA driver needs Linux" && exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "SKIP the compiler need not keep frame pointers" && exit 77; }
nm -D "$(${CC:-cc} -print-file-name=libc.so.6)" 2> /dev/null | grep -q _dl_find_object ||
    { echo "SKIP glibc is older than 2.35" && exit 77; }
"$RIDGE" query "$TESTS/fixtures/python.ridge" "SELECT 1" > /dev/null 2>&1 || { echo "SKIP ridge is built without SQLite" && exit 77; }
mkdir lib
${CC:-cc} -std=c11 -O1 -D_DEFAULT_SOURCE -D_POSIX_C_SOURCE=200809L -I"$TESTS/../src" -I"$TESTS/probe" -fPIC -shared \
    -Wl,-soname,libcuda.so.1 -o lib/libcuda.so.1 "$TESTS/probe/standin_driver.c" "$TESTS/probe/standin_cupti.c" -ldl -pthread ||
    { echo "SKIP the fake CUDA driver does not compile" && exit 77; }
cp "$TESTS/fixtures/native_lines.c" .

record() { RIDGE_CUPTI=$PWD/lib/libcuda.so.1 LD_LIBRARY_PATH=$PWD/lib "$RIDGE" record --no-sampling -qf "$@"; }
# The line of a launch is that of the innermost frame with one.
wrong="WITH RECURSIVE up(kernel, grid, stack, line) AS (
    SELECT k.id, k.grid_x, s.id, s.line FROM kernel k JOIN call c ON c.id = k.launch JOIN stack s ON s.id = c.stack
    UNION ALL SELECT kernel, grid, p.id, p.line FROM up JOIN stack s ON s.id = up.stack JOIN stack p ON p.id = s.parent
    WHERE up.line IS NULL OR up.line = 0)
    SELECT count(*), sum(line = grid) FROM up WHERE line > 0"
for dwarf in 3 4 5; do
    for level in 0 2; do
        ${CC:-cc} -O$level -gdwarf-$dwarf -fno-unroll-loops -o program native_lines.c -Llib -l:libcuda.so.1 -pthread ||
            { echo "SKIP the program does not compile" && exit 77; }
        record -o t.ridge ./program
        echo "DWARF $dwarf -O$level: $("$RIDGE" query t.ridge "$wrong" --format csv | tail -n 1 | tr -d '\r') launches, with the right line"
    done
done
echo "- steps"
"$RIDGE" report t.ridge --section steps | sed -n 's/, found.*//p'
echo "- lines"
"$RIDGE" report t.ridge --steps all --by line --format csv | python3 -c '
import csv, os, sys
for row in csv.DictReader(sys.stdin):
    print(os.path.basename(row["file"]), row["function"].split(".")[0], row["source"], row["calls"], row["activities"])' | sort
echo "- without them"
record -o t.ridge --python-lines off ./program
"$RIDGE" query t.ridge "SELECT count(*) FROM stack" --format csv | tail -n 1
