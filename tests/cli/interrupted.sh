# A command that is stopped half way leaves no file behind, and ends by the signal it was sent.
. "$TESTS/patient.sh"
mkfifo pipe
mkdir temporary
has_begun() { ls out*.tmp; }
interrupt() {
    (exec 3<> pipe; printf '{"traceEvents":[' >&3; exec sleep 600) &
    holder=$!
    TMPDIR=temporary "$RIDGE" "$@" 2> said &
    command=$!
    until_true has_begun
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
