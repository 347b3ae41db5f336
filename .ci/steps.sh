# Sourced by run and full: names each step, times it and counts it. Whatever fails ends the run, and the last line says
# in which step.

current=start
ran=0
skipped=0
scratch=
trap 'status=$?; [ -z "$scratch" ] || rm -rf "$scratch"; [ "$status" -eq 0 ] || printf "\nFAILED: %s, after %ds\n" "$current" "$SECONDS" >&2' EXIT

# scratch_in_memory keeps what tests write in memory, if there is room: they make and remove a hundred thousand small
# files, which takes a disk half of their time. What is built stays on the disk.
scratch_in_memory() {
  local room
  room=$(df --output=avail -m /dev/shm 2>/dev/null | tail -n 1) || return 0
  [ "${room:-0}" -gt 2048 ] || return 0
  scratch=$(mktemp -d /dev/shm/kalypso.XXXXXX) || return 0
  printf '#!/bin/sh\n' >"$scratch/program"
  chmod +x "$scratch/program"
  if "$scratch/program" 2>/dev/null; then # else nothing may be run from there, and tests do
    export GOTMPDIR="${GOTMPDIR:-${TMPDIR:-/tmp}}" TMPDIR=$scratch
  fi
}

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
