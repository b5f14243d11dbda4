# An import that is stopped half way leaves no file behind, and ends by the signal it was sent.
mkfifo pipe
(exec 3<> pipe; printf '{"traceEvents":[' >&3; sleep 5) &
holder=$!
mkdir temporary
TMPDIR=temporary "$RIDGE" import pipe -o out.ridge 2> said &
import=$!
for attempt in $(seq 50); do
    ls out.ridge*.tmp > /dev/null 2>&1 && break
    sleep 0.1
done
kill -TERM $import
wait $import 2> /dev/null
echo "status $?"
kill $holder
wait $holder 2> /dev/null
cat said
ls . temporary
