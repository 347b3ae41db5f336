#!/usr/bin/env bash
# workflows.sh: check the workflows of this repository, those in the docs, and what kalypso init writes for other fleets.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

go build -o "$scratch/kalypso" ./cmd/kalypso
url=https://github.com/acme/control-plane
for fleet in flux:east,west argocd:https://argocd.example.com command:./clusters.sh none; do
  "$scratch/kalypso" init "$scratch/${fleet%%:*}" --workflows control-plane --env dev --fleet "$fleet" >/dev/null
done
"$scratch/kalypso" init "$scratch/gitops" --workflows gitops --control-plane $url --env 007 --env no >/dev/null

# shellcheck and pyflakes are other programs, which are on one machine and not on the next.
go tool -modfile=tools/go.mod actionlint -shellcheck= -pyflakes= .github/workflows/*.yaml docs/workflows/*.yaml \
  "$scratch"/*/.github/workflows/*.yaml
