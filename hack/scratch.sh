# Sourced. scratch_in_memory FOLDER keeps what tests write in a directory of /dev/shm, if there is room: they make and remove a
# hundred thousand small files, which takes a disk half of their time. It sets scratch to it.
scratch=
scratch_in_memory() {
  local room
  room=$(df --output=avail -m /dev/shm 2>/dev/null | tail -n 1) || return 0
  [ "${room:-0}" -gt 2048 ] || return 0
  mkdir -p "$1" || return 0
  scratch=$1
  printf '#!/bin/sh\n' >"$scratch/program"
  chmod +x "$scratch/program"
  if "$scratch/program" 2>/dev/null; then # else nothing may be run from there, and tests do
    export TMPDIR=$scratch
    unset GOTMPDIR # tests would write there
  fi
}
