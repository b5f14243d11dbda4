# A command that is stopped half way leaves no file behind, and ends by the signal it was sent.
mkfifo pipe
mkdir temporary
interrupt() {
    (exec 3<> pipe; printf '{"traceEvents":[' >&3; sleep 5) &
    holder=$!
    TMPDIR=temporary "$RIDGE" "$@" 2> said &
    command=$!
    for attempt in $(seq 50); do
        ls out*.tmp > /dev/null 2>&1 && break
        sleep 0.1
    done
    kill -TERM $command
    wait $command 2> /dev/null
    echo "$1: status $?"
    kill $holder
    wait $holder 2> /dev/null
    cat said
}

interrupt import pipe -o out.ridge
interrupt export pipe --format chrome -o out.json
interrupt report pipe -o out.txt
ls . temporary
