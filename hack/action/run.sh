#!/usr/bin/env bash
# A step of action.yml: runs $KALYPSO with the inputs. An input that is not set leaves the variable of the job unchanged.
set -euo pipefail

fail() {
  echo "::error::kalypso: $*"
  exit 2
}

# give NAME VALUE exports a value, if it is not empty.
give() {
  if [ -n "$2" ]; then export "$1=$2"; fi
}

# take NAME prints an input.
take() {
  local name=INPUT_$1
  printf '%s' "${!name:-}"
}

command=$(take COMMAND)
[[ $command =~ ^[a-z][a-z-]*$ ]] || fail "the input command is not the name of a subcommand"

args=()
while IFS= read -r line || [ -n "$line" ]; do
  line=${line%$'\r'}
  if [ -n "$line" ]; then args+=("$line"); fi
done < <(take ARGS)

auto_merge=$(take AUTO_MERGE)
case $auto_merge in
  true) auto_merge=always ;;
  false) auto_merge= ;;
esac

give KALYPSO_ENV "$(take ENV)"
give KALYPSO_COMMIT "$(take COMMIT)"
give KALYPSO_CONTROL_PLANE "$(take CONTROL_PLANE)"
give KALYPSO_ALLOW_DELETIONS "$(take ALLOW_DELETIONS)"
give KALYPSO_AUTO_MERGE "$auto_merge"
give GITHUB_TOKEN "$(take TOKEN)"
give KALYPSO_GITOPS_TOKEN "$(take GITOPS_TOKEN)"
give KALYPSO_CONTROL_PLANE_TOKEN "$(take CONTROL_PLANE_TOKEN)"
give KALYPSO_SOURCE_TOKEN "$(take SOURCE_TOKEN)"
give KALYPSO_GITHUB_APP_ID "$(take GITHUB_APP_ID)"

key=$(take GITHUB_APP_PRIVATE_KEY)
if [ -n "$key" ]; then
  [ -n "${KALYPSO_GITHUB_APP_ID:-}" ] || fail "the input github-app-private-key needs github-app-id"
  # The last step of the action removes it.
  (umask 077 && printf '%s\n' "$key" >"$KALYPSO.key")
  export KALYPSO_GITHUB_APP_PRIVATE_KEY_FILE="$KALYPSO.key"
fi

# Keep secrets in as few places as possible.
for name in "${!INPUT_@}"; do unset "$name"; done
exec "$KALYPSO" "$command" ${args[@]+"${args[@]}"}
