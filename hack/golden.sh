#!/usr/bin/env bash
# golden.sh: rewrite what tests compare with (golden files, generated parts of the docs), then show what changed, to be
# read before it is committed. It runs the packages whose tests define the flag -update. "golden.sh docs" rewrites the
# docs only: their tests have Doc or Reference in their names.
set -euo pipefail
compared=(':(glob)**/testdata/**' docs README.md)
only=()
if [ "${1:-}" = docs ]; then
  compared=(docs README.md)
  only=(-run 'Doc|Reference')
fi

packages=$(git grep --untracked -l 'flag\.Bool("update"' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's|^|./|')
status=0
for _ in first 'once more, as the references in docs are made of the golden files'; do
  # shellcheck disable=SC2086
  go test -count=1 ${only[@]+"${only[@]}"} $packages -update || status=$?
done

changed=$(git status --short --untracked-files=all -- "${compared[@]}")
if [ -z "$changed" ]; then
  echo "no change"
else
  git --no-pager diff -- "${compared[@]}"
  git --no-pager diff --stat -- "${compared[@]}"
  printf 'changed and new:\n%s\n' "$changed"
fi
exit "$status"
