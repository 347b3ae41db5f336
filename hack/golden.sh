#!/usr/bin/env bash
# golden.sh: rewrite the golden files, then show what changed, to be read before it is committed. Tests that compare
# with a golden file write it instead when UPDATE_GOLDEN is set.
set -euo pipefail

status=0
UPDATE_GOLDEN=1 go test -count=1 ./... || status=$?

changed=$(git status --short --untracked-files=all -- ':(glob)**/testdata/**')
if [ -z "$changed" ]; then
  echo "golden files: no change"
else
  git --no-pager diff -- ':(glob)**/testdata/**'
  git --no-pager diff --stat -- ':(glob)**/testdata/**'
  printf 'golden files, changed and new:\n%s\n' "$changed"
fi
exit "$status"
