#!/usr/bin/env bash
# fuzz.sh TIME: run every fuzz target of the module for TIME, two at a time, as go test takes only one at once and spends
# much of a short run on starting and linking, which keeps one core busy.
# fuzz.sh TIME PACKAGE TARGET: run that one.
set -euo pipefail
time=${1:?usage: fuzz.sh TIME [PACKAGE TARGET]}

# only_late tells whether the log shows nothing worse than a worker that was still busy when the time was up. Go before
# 1.27 reports that as a failure (go.dev/issue/75804); a real one names the input that it wrote.
only_late() {
  grep -q '^ *context deadline exceeded$' "$1" && ! grep -q 'Failing input written to' "$1"
}

# fuzz runs a target and prints what it says in one piece.
fuzz() {
  local log
  log=$(mktemp)
  if go test -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 2s -parallel 1 "$1" </dev/null >"$log" 2>&1; then
    set -- "$1" "$2" 0
  elif only_late "$log"; then
    echo "no failing input: the time was up while a worker was busy (go.dev/issue/75804)" >>"$log"
    set -- "$1" "$2" 0
  else
    set -- "$1" "$2" 255 # which tells xargs to stop
  fi
  printf 'fuzz %s %s\n%s\n' "$1" "$2" "$(cat "$log")"
  rm -f "$log"
  return "$3"
}

if [ $# -eq 3 ]; then
  fuzz "$2" "$3"
  exit
fi

# go test -list prints the targets of a package, then "ok" and the package.
targets=$(go test -list '^Fuzz' ./... | awk '
  /^Fuzz/ { name[n++] = $1 }
  $1 == "ok" { for (i = 0; i < n; i++) print $2, name[i]; n = 0 }')
if [ -z "$targets" ]; then
  echo "no fuzz target found"
  exit
fi
xargs -P 2 -L 1 "$0" "$time" <<<"$targets"
