#!/bin/sh
# Simulates the clusters for check-promote --fleet command:./clusters.sh: all clusters in clusters.txt have the merged commit,
# in the state that the file sets. For a new cluster type, add lines to the file.
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
