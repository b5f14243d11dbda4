# The command line: help, versions, mistakes, pipes.
say() { "$@" 2>&1; echo "status $?"; }
say "$RIDGE" info
say "$RIDGE" info a b
say "$RIDGE" info --frmat json x
say "$RIDGE" info --format xml x
say "$RIDGE" import --output
say "$RIDGE" import -z x
say "$RIDGE" imprt x
say "$RIDGE" nonsense
say "$RIDGE" help nonsense
say "$RIDGE" completion csh
"$RIDGE" --version | sed 's/[0-9][0-9.]*/N/'
[ "$("$RIDGE")" = "$("$RIDGE" help)" ] && [ "$("$RIDGE" --help)" = "$("$RIDGE" help)" ] && echo same overview
[ "$("$RIDGE" help info)" = "$("$RIDGE" info --help)" ] && [ "$("$RIDGE" info -h)" = "$("$RIDGE" info --help)" ] && echo same help
echo "- no line of help is longer than 80 columns"
for command in $("$RIDGE" help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p'); do
    "$RIDGE" help "$command" | awk -v c="$command" 'length > 80 && !/^  ridge / { print c ": " $0 }'
done
echo "- a reader that goes away is no error"
(trap '' PIPE; "$RIDGE" manual | head -n 1 > line); cat line | cut -c1-8
echo "- output that cannot be written is"
if [ -w /dev/full ]; then "$RIDGE" help > /dev/full; echo "status $?"; else
    echo "ridge help: standard output: cannot write: No space left on device" >&2; echo "status 2"; fi
