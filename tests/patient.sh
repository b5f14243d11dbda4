# For suites that source it. Some programs of the tests pause so that a thread of the probe or the recorder gets its
# turn; on a busy machine a thread can wait for seconds.

# patient COMMAND...: once more with longer pauses when it fails; what is wrong fails with any of them. The programs
# multiply their pauses by $PATIENCE.
patient() {
    local factor
    for factor in 1 5 25; do
        PATIENCE=$factor "$@" && return
        [ ! -e "$scratch/skip" ] || return 1
    done
    return 1
}

# until_true COMMAND...: waits for it to succeed, at most two minutes
until_true() {
    local tries
    for ((tries = 0; tries < 2400; tries++)); do
        "$@" > /dev/null 2>&1 && return
        sleep 0.05
    done
    echo "not within two minutes: $*"
    return 1
}
