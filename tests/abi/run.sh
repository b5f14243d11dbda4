#!/bin/sh
# Compares what ridge declares of the drivers' interfaces with the vendors' headers, where those are.
#
#   CC=cc tests/abi/run.sh
#
# tests/abi/NAME.c is a program that compiles and ends with 0 when all agree, and with "SKIP reason" and
# 77 when the headers are missing. Prints what differs and at last `N passed, N failed, N skipped`.
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
cc=${CC:-cc}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ridge-abi.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0 skipped=0

# Where toolkits keep their headers, besides the compiler's own folders; Python's packages among them.
python=$(python3 -c 'import site; print(site.getsitepackages()[0])' 2> /dev/null)
folders=
for folder in "${CUDA_HOME:-/usr/local/cuda}/include" "${CUDA_PATH:-/opt/cuda}/include" \
    "${CUDA_HOME:-/usr/local/cuda}/extras/CUPTI/include" \
    "${python:-/none}"/nvidia/cu*/include "${python:-/none}"/nvidia/cuda_*/include; do
    [ -d "$folder" ] && folders="$folders -isystem $folder"
done

# The layouts of every Python that is found, with and without the GIL.
pythons=0
for python in python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 python3.14t \
    "$HOME"/.pyenv/versions/3.*/bin/python3; do
    include=$("$python" -c 'import sys, sysconfig
print(sysconfig.get_path("include") if sys.version_info >= (3, 8) else "/none")' 2> /dev/null)
    [ -e "$include/internal/pycore_pystate.h" ] || continue
    builds=default
    grep -q 'PY_MINOR_VERSION *1[3-9]' "$include/patchlevel.h" && builds="default Py_GIL_DISABLED=1"
    for build in $builds; do
        pythons=$((pythons + 1))
        if $cc -std=gnu11 -w -DABI_PYTHON $([ $build = default ] || echo "-D$build") -I"$root/src" -isystem "$include" \
            -isystem "$include/internal" -o "$scratch/cpython" "$here/cpython.c" > "$scratch/log" 2>&1 && "$scratch/cpython"; then
            passed=$((passed + 1))
        else
            echo "FAILED tests/abi/cpython.c with $include, $build"
            grep -m 5 'error' "$scratch/log"
            failed=$((failed + 1))
        fi
    done
done

for source in "$here"/*.c; do
    name=$(basename "$source" .c)
    [ "$name" != cpython ] || [ $pythons = 0 ] || continue
    if ! $cc -std=c11 -Wall -Wextra -Werror -I"$root/src" -I"$root/include" $folders \
        -o "$scratch/$name" "$source" -ldl > "$scratch/log" 2>&1; then
        echo "FAILED tests/abi/$name.c does not compile:"
        grep -m 5 'error' "$scratch/log"
        failed=$((failed + 1))
        continue
    fi
    "$scratch/$name" > "$scratch/printed"
    case $? in
    0) passed=$((passed + 1)) ;;
    77)
        echo "skipped tests/abi/$name: $(sed -n 's/^SKIP //p' "$scratch/printed")"
        skipped=$((skipped + 1))
        ;;
    *)
        cat "$scratch/printed"
        failed=$((failed + 1))
        ;;
    esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
