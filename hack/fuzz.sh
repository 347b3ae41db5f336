#!/usr/bin/env bash
# fuzz.sh TIME: run every fuzz target of the module for TIME, two at a time, as one keeps one core busy. The tests of a
# package are built once for all of its targets: to build them takes longer than a short run.
# fuzz.sh TIME PACKAGE TARGET: run that one.
# A TIME in milliseconds only tries the inputs of earlier runs and some mutations: coverage would not guide it further, and to
# compile all packages once more with counters takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
export time=${1:?usage: fuzz.sh TIME [PACKAGE TARGET]}
export counters='-fuzz .'
case $time in *ms) counters= ;; esac

# only_late reports whether the log shows nothing worse than a worker that was still busy when the time was up. Go before
# 1.27 reports that as a failure (go.dev/issue/75804); a real one names the input that it wrote.
only_late() {
  grep -q '^ *context deadline exceeded$' "$1" && ! grep -q 'Failing input written to' "$1"
}

# fuzz DIR BINARY TARGET runs a target in the directory of its package, and prints what it says in one piece.
fuzz() {
  local log status=0
  log=$(mktemp)
  (cd "$1" && "$2" -test.run '^$' -test.fuzz "^$3\$" -test.fuzztime "$time" -test.fuzzminimizetime 2s -test.parallel 1 \
    -test.fuzzcachedir "$cache/$1") </dev/null >"$log" 2>&1 || status=255 # which tells xargs to stop
  if [ "$status" -ne 0 ] && only_late "$log"; then
    echo "no failing input: the time was up while a worker was busy (go.dev/issue/75804)" >>"$log"
    status=0
  fi
  printf 'fuzz %s %s\n%s\n' "$1" "$3" "$(grep -v '^warning: the test binary was not built with coverage' "$log")"
  rm -f "$log"
  return "$status"
}
export -f fuzz only_late

bin=$(TMPDIR=${GOTMPDIR:-${TMPDIR:-/tmp}} mktemp -d)
trap 'rm -rf "$bin"' EXIT
cache=$(go env GOCACHE)/fuzz/kalypso
export cache bin

# build PACKAGE builds its tests, and prints where they are.
build() {
  local binary
  binary=$bin/$(tr / _ <<<"$1").test
  # shellcheck disable=SC2086 # two words or none
  go test -c $counters -o "$binary" "$1"
  printf '%s\n' "$binary"
}

# targets PACKAGE builds its tests, and prints each target behind them.
targets() {
  local binary
  binary=$(build "./$1")
  (cd "$1" && "$binary" -test.list '^Fuzz') | sed "s|^|$1 $binary |"
}
export -f build targets

if [ $# -eq 3 ]; then
  fuzz "$(go list -f '{{.Dir}}' "$2")" "$(build "$2")" "$3"
  exit
fi

# Packages with fuzz targets, without building those that have none.
packages=$(git grep --untracked -l '^func Fuzz' -- '*_test.go' | xargs -n 1 dirname | sort -u)
if [ -z "$packages" ]; then
  echo "no fuzz target found"
  exit
fi
# A linker keeps one core busy, as a target does.
xargs -P 2 -I{} bash -euo pipefail -c 'targets {}' <<<"$packages" >"$bin/targets"
xargs -P 2 -L 1 bash -euo pipefail -c 'fuzz "$@"' fuzz <"$bin/targets"
