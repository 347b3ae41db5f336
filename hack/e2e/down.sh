#!/usr/bin/env bash
# down.sh [CLUSTER]: stop what up.sh started, the last process first; with a name, only the processes of this cluster.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

[ -d "$RUN/pids" ] || exit 0
cd "$RUN/pids"
# shellcheck disable=SC2012 # the names are those of up.sh
for name in $(ls -t); do
  [[ $# -eq 0 || $name == "$1".* ]] || continue
  pid=$(cat "$name")
  # After a restart of the machine the id may be that of another process.
  grep -qsF -- "$RUN" "/proc/$pid/cmdline" "/proc/$pid/environ" || { rm -f "$name"; continue; }
  kill -TERM -- "-$pid" 2>/dev/null || true # the group of the process
  for _ in $(seq 50); do
    grep -qsa . "/proc/$pid/cmdline" || break # empty for a zombie, which a container without an init process keeps
    sleep 0.2
  done
  kill -KILL -- "-$pid" 2>/dev/null || true
  rm -f "$name"
done
