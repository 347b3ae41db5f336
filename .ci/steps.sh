# Sourced by run and full: names each step, times it and counts it. Whatever fails ends the run, and the last line says
# in which step.

export GOFLAGS="${GOFLAGS:-} -trimpath" # a new clone finds in the cache what another one has built

current=start
ran=0
skipped=0
. hack/scratch.sh
trap 'status=$?; [ -z "$scratch" ] || rm -rf "$scratch"; [ "$status" -eq 0 ] || printf "\nFAILED: %s, after %ds\n" "$current" "$SECONDS" >&2' EXIT

# step NAME COMMAND... runs the command under a headline. No "||" behind the command: that would switch off set -e in it.
step() {
  local from=$SECONDS
  current=$1
  ran=$((ran + 1))
  shift
  printf '\n=== %s: %s\n' "$current" "$*"
  "$@"
  printf -- '--- %s: %ds\n' "$current" $((SECONDS - from))
}

# skip WHY says aloud that the step could not check what it is for.
skip() {
  skipped=$((skipped + 1))
  printf 'SKIPPED: %s: %s\n' "$current" "$*"
}

# finish NAME says how it went.
finish() {
  printf '\n%s: %d steps passed, %d skipped, %ds\n' "$1" "$((ran - skipped))" "$skipped" "$SECONDS"
}
