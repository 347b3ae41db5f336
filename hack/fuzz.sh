#!/usr/bin/env bash
# fuzz.sh TIME: run every fuzz target of the module for TIME, one after the other, as go test takes only one at once.
set -euo pipefail
time=${1:?usage: fuzz.sh TIME}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# only_late tells whether the log shows nothing worse than a worker that was still busy when the time was up. Go before
# 1.27 reports that as a failure (go.dev/issue/75804); a real one names the input that it wrote.
only_late() {
  grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input written to' "$log"
}

# go test -list prints the targets of a package, then "ok" and the package.
targets=$(go test -list '^Fuzz' ./... | awk '
  /^Fuzz/ { name[n++] = $1 }
  $1 == "ok" { for (i = 0; i < n; i++) print $2, name[i]; n = 0 }')
if [ -z "$targets" ]; then
  echo "no fuzz target found"
  exit
fi
while read -r package target; do
  echo "fuzz $package $target"
  if ! go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 2s "$package" </dev/null 2>&1 | tee "$log"; then
    only_late || exit 1
    echo "no failing input: the time was up while a worker was busy (go.dev/issue/75804)"
  fi
done <<<"$targets"
