#!/usr/bin/env bash
# files.sh: make what goes into the archives of a release beside the program, in build/release. goreleaser runs it first.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=build/release
rm -rf "$work"
mkdir -p "$work/completions"

# For the machine that this runs on, whatever the release is for; with the repository, for the date of the manual.
GOOS='' GOARCH='' CGO_ENABLED=0 go build -trimpath -buildvcs=true -o "$work/kalypso" ./cmd/kalypso
for shell in bash zsh fish powershell; do
  "$work/kalypso" completion "$shell" >"$work/completions/kalypso.$shell"
done
mv "$work/completions/kalypso.powershell" "$work/completions/kalypso.ps1"
"$work/kalypso" man "$work/man"
rm "$work/kalypso"
