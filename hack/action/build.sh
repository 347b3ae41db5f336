#!/usr/bin/env bash
# A step of action.yml: builds the source that came with the action to $KALYPSO. The settings of the job for its own Go
# code, if it has any, do not count here.
set -euo pipefail
cd "$GITHUB_ACTION_PATH"
CGO_ENABLED=0 GOFLAGS='' GOWORK=off go build -trimpath -o "$KALYPSO" ./cmd/kalypso
