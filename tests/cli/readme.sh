# The sessions in the README are what ridge prints.
cd "$TESTS/.." || exit 1
sed -n '/^\$ ridge report/,/^  …$/p' README.md | sed '1d;$d' > "$OLDPWD/expected"
lines=$(wc -l < "$OLDPWD/expected")
"$RIDGE" report examples/train.ridge | head -n "$lines" | diff "$OLDPWD/expected" - &&
    echo "the README's session is real"
sed -n '/^\$ ridge whatif/,/^```$/p' README.md | sed '1d;$d' > "$OLDPWD/expected"
"$RIDGE" whatif examples/train.ridge --graph --steps steady | diff "$OLDPWD/expected" - &&
    echo "and so is the prediction"
