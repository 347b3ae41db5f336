# Sourced by the scripts of this directory.
#   E2E      work directory (build/e2e)
#   E2E_BIN  binaries that build.sh builds (build/e2e/bin)
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
E2E=${E2E:-$ROOT/build/e2e}
E2E_BIN=${E2E_BIN:-$E2E/bin}
RUN=$E2E/run # everything that a run writes

# The secure port of the API server of each cluster. Each cluster also uses this port plus 100 for the controller manager
# and plus 1000 to 1080 for Flux.
declare -A PORT=([cloud-1]=16443 [edge-1]=16444 [cloud-2]=16445)
GIT_PORT=18443
ETCD_PORT=12379 # and 12380 for peers
