#!/usr/bin/env bash
# Installs the library into a temporary folder and uses it as a stranger would.
#
#   BUILD=build [CC=cc] [SAN=...] tests/examples/run.sh     with the settings of that build
#
# Every examples/NAME.c is built through pkg-config, shared and static, and run on each device that
# is usable here: it must print tests/examples/NAME.out (UPDATE=1 writes that anew). The stand-in for Metal
# runs a few of them, and all with FULL_METAL=1 (tests/long/examples). Checked besides:
# what the library exports, that its names do not clash with a program's, the header as C++, the
# trace of examples/trace.c, and that the guide's and the README's code and sessions are real. Ends
# with `N passed, N failed, N skipped`.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
strict="-std=c11 -Wall -Wextra -Werror ${SAN:+-fsanitize=$SAN}"
cc=${CC:-cc}
export LC_ALL=C NO_COLOR=1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ridge-examples.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
passed=0 failed=0 skipped=0

# check WHAT COMMAND...: counts it, and shows what it printed when it failed.
check() {
    local what=$1
    shift
    if "$@" > "$scratch/log" 2>&1; then
        passed=$((passed + 1))
    else
        echo "FAILED tests/examples: $what"
        tail -n 20 "$scratch/log"
        failed=$((failed + 1))
    fi
}

skip() {
    echo "skipped tests/examples: $1"
    skipped=$((skipped + 1))
}

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed = 0 ]
    exit
}

link() {
    $cc $strict -o "$1" "$2" $(pkg-config --cflags ridge) $3
}

# A folder is one program.
link_folder() {
    $cc $strict -o "$1" -I"$root/examples" "$2"/*.c $(pkg-config --cflags ridge) $3
}

run_example() {
    local name=$1 device=$2
    (
        [ "$device" != metal ] || . "$root/tests/metal/environment"
        cd "$scratch" && "$scratch/$name" "$device"
    ) > "$scratch/printed" 2> "$scratch/progress" || {
        cat "$scratch/progress"
        return 1
    }
    [ -z "${UPDATE:-}" ] || cp "$scratch/printed" "$here/$name.out"
    diff -u "$here/$name.out" "$scratch/printed"
}

# Compiling kernels for a CPU takes seconds, and a minute for the hundred of the transformer.
takes_too_long() {
    case $1-$2 in
    train_transformer-opencl | train_transformer-metal) true ;;
    custom_kernel-metal | forward-metal | image_pipeline-metal) false ;;
    *-metal) [ -z "${FULL_METAL:-}" ] ;;
    *) false ;;
    esac
}

check_examples() {
    local source name
    for source in "$root"/examples/*.c; do
        name=$(basename "$source" .c)
        check "$name.c with the shared library" link "$scratch/$name" "$source" "$shared -lm"
        for device in $devices; do
            takes_too_long "$name" "$device" || check "$name on $device" run_example "$name" "$device"
        done
        check "$name.c with the static library" link "$scratch/$name" "$source" "$static"
        check "$name of the static library" run_example "$name" cpu
    done
    check "rwkv with the shared library" link_folder "$scratch/rwkv" "$root/examples/rwkv" "$shared -lm"
    for device in $devices; do
        takes_too_long rwkv "$device" || check "rwkv on $device" run_example rwkv "$device"
    done
    check "an unknown device is a failure" fails_with_message "$scratch/forward" nonsense
}

fails_with_message() {
    ! "$@" 2> "$scratch/message" && grep -q 'unknown device "nonsense"' "$scratch/message"
}

exported_names() {
    if [ "$(uname -s)" = Darwin ]; then
        nm -gU "$prefix"/lib/libridge.dylib | sed 's/.* _//'
    else
        nm -D --defined-only "$prefix"/lib/libridge.so | sed 's/.* //' | grep -v '^__'
    fi | sort
}

# The names that ridge.h declares as functions, and no others.
exports_the_header() {
    echo '#include <ridge.h>' | $cc -E -P $(pkg-config --cflags ridge) - |
        tr '\n' ' ' | grep -o 'visibility("default")))[^;(]*(' | grep -o 'ridge_[a-z0-9_]* *($' |
        tr -d ' (' | sort > "$scratch/declared"
    exported_names | diff "$scratch/declared" - && [ "$(wc -l < "$scratch/declared")" -gt 100 ]
}

# The library has a function of that name inside.
names_do_not_clash() {
    cat > "$scratch/clash.c" << 'END'
#include <ridge.h>
int map_set(void);
int map_set(void) { return 0; }
int main(void) {
    ridge_device *device = ridge_device_open("cpu");
    ridge_tensor *x = ridge_arange(device, RIDGE_F32, 4, 0, 1);
    float sum = 0;
    bool ok = ridge_to_host(ridge_sum(ridge_square(x), 0, NULL, false), &sum, sizeof sum);
    ridge_device_close(device);
    return ok && sum == 14 ? map_set() : 1;
}
END
    link "$scratch/clash" "$scratch/clash.c" "$static" && "$scratch/clash"
}

# The program in the header's first comment.
header_example_works() {
    sed -n '/^ \*   #include <ridge.h>/,/^ \*   }/s/^ \*   //p' "$root/include/ridge.h" > "$scratch/first.c"
    link "$scratch/first" "$scratch/first.c" "$shared" && "$scratch/first" && ! "$scratch/first" 2>&1 | grep .
}

works_from_cpp() {
    echo '#include <ridge.h>
int main() { return ridge_device_list(nullptr, 0) > 0 ? 0 : 1; }' > "$scratch/header.cpp"
    c++ -std=c++11 -Wall -Wextra -Werror -pedantic ${SAN:+-fsanitize=$SAN} -o "$scratch/header" \
        "$scratch/header.cpp" $(pkg-config --cflags ridge) $shared && "$scratch/header"
}

# ridge.hpp: compiles without a warning, works, and calls every function of ridge.h.
wrapper_works() {
    $1 -std=c++11 -Wall -Wextra -Werror -pedantic ${SAN:+-fsanitize=$SAN} -o "$scratch/wrapper" \
        "$here/wrapper.cpp" $(pkg-config --cflags ridge) $shared && "$scratch/wrapper" "$scratch/wrapper.gguf"
}

wrapper_is_complete() {
    echo '#include <ridge.hpp>' | $1 -std=c++11 -x c++ -E -P $(pkg-config --cflags ridge) - |
        sed -n '/^namespace ridge/,$p' | grep -o 'ridge_[a-z0-9_]*' | sort -u > "$scratch/called"
    exported_names | comm -23 - "$scratch/called" | sed '/^ridge_error_/d' | tee "$scratch/missing"
    [ -s "$scratch/called" ] && [ ! -s "$scratch/missing" ]
}

# Every function of the header has a heading of its own, and text below it.
reference_is_complete() {
    "$root/scripts/reference" > "$scratch/reference.md" &&
        sed -n 's/^### //p' "$scratch/reference.md" | sort | diff "$scratch/declared" - &&
        awk '/^### / { if (words == 0 && name) { print name; bad = 1 } name = $2; words = code = 0 }
            /^```/ { code = !code; next } !code && !/^#/ && NF { words++ } END { exit bad }' "$scratch/reference.md"
}

# The kernels of examples/trace.c in the report, ranges, and the flops of the matrix product with its
# epilogue: 2 m n k, and 6 for each element of the result.
reports_the_trace() {
    local report=$scratch/report
    (cd "$scratch" && ./trace cpu) && "$prefix/bin/ridge" report --steps all --full "$scratch/trace.ridge" > "$report" &&
        cat "$report" && grep -q '  30 kernels, 10 copies' "$report" &&
        grep -q 'matmul_f32_add_silu_add$' "$report" && grep -q 'rows_sum_f32$' "$report" &&
        grep -q ' 20  forward$' "$report"
}

knows_flops_and_bytes() {
    "$prefix/bin/ridge" query "$scratch/trace.ridge" --format csv "SELECT DISTINCT flops, bytes
        FROM kernel WHERE name LIKE 'matmul%'" | tee "$scratch/flops" &&
        grep -q "^$((2 * 128 * 512 * 512 + 6 * 128 * 512)),$((4 * (3 * 128 * 512 + 512 * 512 + 512)))" \
            "$scratch/flops"
}

# Each block of C in the document is part of an example or of the header, but for white space.
code_is_real() {
    awk '
    FNR == 1 { file++ }
    FILENAME != document { gsub(/[ \t*]/, ""); sources[file] = sources[file] $0; next }
    /^```/ { inside = $0 == "```c"; if (!inside && block != "") finish(); next }
    inside { if (block == "") begin = FNR; gsub(/[ \t*]/, ""); block = block $0 }
    function finish(    i, found) {
        for (i in sources)
            found = found || index(sources[i], block)
        if (!found) {
            printf "%s:%d: this code is in no example\n", document, begin
            failed = 1
        }
        blocks++
        block = ""
    }
    END { exit failed || blocks == 0 }' document="$1" "$root"/examples/*.c "$root/include/ridge.h" "$1"
}

# Each session `$ ./NAME cpu` in the document shows what NAME prints.
session_is_real() {
    awk '/^\$ .*\.\/'"$2"' / { inside = 1; next } /^```/ || /^\$/ { inside = 0 } inside' "$1" |
        diff - "$here/$2.out"
}

command -v pkg-config > /dev/null || {
    skip "pkg-config is not installed"
    finish
}
# The name by which it was built: dependencies on headers are known by it.
make -C "$root" BUILD="${build#"$root"/}" PREFIX="$prefix" install > "$scratch/log" 2>&1 || {
    echo "FAILED tests/examples: make install"
    tail -n 20 "$scratch/log"
    failed=1
    finish
}
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib DYLD_LIBRARY_PATH=$prefix/lib
export RIDGE_CACHE=$scratch/cache
shared=$(pkg-config --libs ridge)
# Apart from the shared library, which -lridge would prefer.
mkdir "$scratch/static" && cp "$prefix/lib/libridge.a" "$scratch/static"
static=$(pkg-config --static --define-variable=libdir="$scratch/static" --libs ridge)
devices=cpu
for kind in opencl cuda; do
    if "$prefix/bin/ridge" devices | grep -q "^$kind"; then
        devices="$devices $kind"
    else
        skip "$kind is not usable here"
    fi
done
metal_missing=$(. "$root/tests/metal/environment" && echo "$metal_missing")
if [ -z "$metal_missing" ]; then
    devices="$devices metal" # on the stand-in
else
    skip "metal: $metal_missing"
fi

check_examples
check "the library exports what ridge.h declares" exports_the_header
check "the reference has every function" reference_is_complete
if [ "$(uname -s)" = Darwin ]; then
    skip "names of the static library are not hidden on macOS"
else
    check "a program may have a function called map_set" names_do_not_clash
fi
check "the program in ridge.h" header_example_works
if command -v c++ > /dev/null; then
    check "ridge.h in C++" works_from_cpp
    for compiler in c++ clang++; do
        if command -v $compiler > /dev/null; then
            check "ridge.hpp with $compiler" wrapper_works $compiler
        else
            skip "there is no $compiler"
        fi
    done
    check "ridge.hpp has every function of ridge.h" wrapper_is_complete c++
else
    skip "there is no C++ compiler"
fi
check "the trace in ridge report" reports_the_trace
if "$prefix/bin/ridge" query "$scratch/trace.ridge" "SELECT 1" > /dev/null 2>&1; then
    check "flops and bytes of the trace's kernels" knows_flops_and_bytes
else
    skip "ridge was built without SQLite"
fi
for document in docs/runtime.md README.md; do
    check "the code in $document" code_is_real "$root/$document"
done
for name in custom_kernel pool_report; do
    check "the session of $name in docs/runtime.md" session_is_real "$root/docs/runtime.md" "$name"
done
check "the session of custom_kernel in the README" session_is_real "$root/README.md" custom_kernel
finish
