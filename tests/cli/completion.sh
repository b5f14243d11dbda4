# Completions and the man page name every command and option that help lists.
"$RIDGE" completion bash > ridge.bash
"$RIDGE" completion zsh > _ridge
"$RIDGE" completion fish > ridge.fish
"$RIDGE" manual > ridge.1
bash -n ridge.bash
for command in $("$RIDGE" help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p'); do
    grep -q "^    $command)" ridge.bash || echo "bash lacks $command"
    grep -q "'$command:" _ridge || echo "zsh lacks $command"
    grep -q -- "-a $command " ridge.fish || echo "fish lacks $command"
    grep -q "^.SS \"ridge $command" ridge.1 || echo "the man page lacks $command"
    for option in $("$RIDGE" help "$command" | sed -n 's/^  .*--\([a-z][a-z-]*\).*/\1/p'); do
        [ "$option" = help ] && continue
        grep -q -- "--$option" ridge.bash || echo "bash lacks $command --$option"
        grep -q -- "--$option" _ridge || echo "zsh lacks $command --$option"
        grep -q -- "-l $option" ridge.fish || echo "fish lacks $command --$option"
        escaped=$(printf '%s' "$option" | sed 's/-/\\\\-/g')
        grep -q -- "$escaped" ridge.1 || echo "the man page lacks $command --$option"
    done
done
source ./ridge.bash
complete_words() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _ridge
    echo "$*: ${COMPREPLY[*]}"
}
touch trace.json
complete_words ridge imp
complete_words ridge info --format ''
complete_words ridge info --format = j
complete_words ridge import --sk
complete_words ridge info tr
complete_words ridge import -o tr
complete_words ridge completion z
if command -v man > /dev/null; then man --warnings -l ridge.1 2>&1 > /dev/null | head -n 5; fi
if command -v mandoc > /dev/null; then mandoc -T lint -W warning ridge.1; fi
if command -v zsh > /dev/null; then zsh -n _ridge; fi
if command -v fish > /dev/null; then fish -n ridge.fish; fi
exit 0
