#!/bin/sh
# Stands in for the clusters, for check-promote --fleet command:./clusters.sh: all in clusters.txt have what is merged, and
# are in the state that is written there. A cluster type that is new has clusters once there is a line for them.
set -eu
cd "$(dirname "$0")"
awk -v environment="$KALYPSO_FLEET_ENVIRONMENT" -v commit="$KALYPSO_FLEET_COMMIT" '
  BEGIN { printf "{\"clusters\":[" }
  !/^#/ && $1 == environment {
    printf "%s{\"name\":\"%s\",\"clusterType\":\"%s\",\"commit\":\"%s\",\"state\":\"%s\"}", comma, $2, $3, commit, $4
    comma = ","
  }
  END { print "]}" }
' clusters.txt
