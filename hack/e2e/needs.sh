#!/usr/bin/env bash
# needs.sh: print what make e2e needs and this machine does not have. Exit code 1 if something is missing.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
PATH=$PATH:/usr/sbin

missing=()
declare -A package=([etcd]=etcd-server [nginx]=nginx-light [fcgiwrap]=fcgiwrap [curl]=curl [openssl]=openssl [git]=git)
packages=()
for command in etcd nginx fcgiwrap curl openssl git; do
  command -v "$command" >/dev/null && continue
  missing+=("$command")
  packages+=("${package[$command]}")
done
[ "$(uname -s)" = Linux ] || missing+=(Linux)
[ "$(id -u)" = 0 ] || missing+=("root (nginx and fcgiwrap run as root): run it with sudo or in a container")

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
used=()
ports=("$ETCD_PORT" $((ETCD_PORT + 1)) "$GIT_PORT")
for port in "${PORT[@]}"; do
  ports+=("$port" $((port + 100)))
  for offset in 1000 1020 1040 1060 1080; do ports+=($((port + offset))); done
done
for port in "${ports[@]}"; do
  if listens "$port"; then used+=("$port"); fi
done

[ ${#used[@]} -eq 0 ] || missing+=("the ports ${used[*]}, which are in use; hack/e2e/down.sh stops an interrupted run")

[ ${#missing[@]} -gt 0 ] || exit 0
printf 'make e2e needs %s\n' "${missing[@]}"
[ ${#packages[@]} -eq 0 ] || echo "  apt-get install -y --no-install-recommends ${packages[*]}"
exit 1
