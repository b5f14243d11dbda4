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

for source in "$here"/*.c; do
    name=$(basename "$source" .c)
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
