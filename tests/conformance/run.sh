#!/bin/sh
# Runs the conformance program on every kind of device that this machine has.
#
#   BUILD=build tests/conformance/run.sh
#
# A device that compiles its kernels is given the quick set, because the first run compiles them all;
# `build/conformance opencl` alone runs everything. Vulkan has two parts of it, under the validation
# layer where it is installed: a message of the layer is a failure. tests/long/vulkan runs all. Prints
# what failed, what was skipped and why, and at last `N passed, N failed, N skipped`.
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
printed=$(mktemp "${TMPDIR:-/tmp}/ridge-conformance.XXXXXX") || exit 1
trap 'rm -f "$printed"' EXIT
export LSAN_OPTIONS="suppressions=$root/tests/conformance/driver_leaks.supp:print_suppressions=0"
passed=0 failed=0 skipped=0

if ls /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json > /dev/null 2>&1; then
    validation=VK_LAYER_KHRONOS_validation
else
    validation=
fi
for row in cpu: opencl: vulkan:casts vulkan:matmul cuda:; do
    device=${row%:*} part=${row#*:}
    case $device in cpu) quick= ;; *) quick=--quick ;; esac
    if [ -n "$part" ]; then
        VK_INSTANCE_LAYERS=$validation "$build/conformance" $device $quick --part "$part" > "$printed"
        code=$?
        if grep -q 'VUID-' "$printed"; then
            echo "FAILED conformance on $device: $(grep -m 1 'VUID-' "$printed")"
            failed=$((failed + 1))
            continue
        fi
    else
        "$build/conformance" $device $quick > "$printed"
        code=$?
    fi
    summary=$(tail -n 1 "$printed")
    if [ $code = 77 ]; then
        echo "skipped tests/conformance on $device: ${summary#SKIP }"
        skipped=$((skipped + 1))
        continue
    fi
    sed -n "/ passed, /!s/^\([a-zA-Z]*\) /\1 $device: /p" "$printed"
    counts=$(echo "$summary" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p')
    if [ -z "$counts" ]; then
        echo "FAILED conformance on $device ended early with status $code"
        failed=$((failed + 1))
        continue
    fi
    set -- $counts
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    if [ $code != 0 ] && [ "$2" = 0 ]; then
        echo "FAILED conformance on $device ended with status $code"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
