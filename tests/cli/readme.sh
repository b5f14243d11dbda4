# The sessions in the README are what ridge prints.
cd "$TESTS/.." || exit 1
session() {
    sed -n "/^\\$ $1/,/^\`\`\`\$/p" README.md | sed '1d;$d' > "$OLDPWD/expected"
}
session "ridge report"
"$RIDGE" report examples/train.ridge | diff "$OLDPWD/expected" - && echo "the README's session is real"
session "ridge whatif"
"$RIDGE" whatif examples/train.ridge --graph --steps steady | diff "$OLDPWD/expected" - &&
    echo "and so is the prediction"
