#!/usr/bin/env bash
# test.sh ARGUMENTS...: go test, with what tests write in memory. Many tests wait for servers and other processes, so that more
# of them run at once than there are cores.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/scratch.sh
case ${TMPDIR:-} in
/dev/shm/*) ;;
*) scratch_in_memory "/dev/shm/kalypso-$(id -u)" ;; # always the same, or go test would not know results again
esac
export GOGC=${GOGC:-400} # heaps of tests are small: the collector took a third of their time
exec "${GO:-go}" test -trimpath -parallel 6 "$@"
