#!/usr/bin/env bash
# The first step of action.yml: installs the release that INPUT_VERSION names, or the one in the reference to the action.
# Without a release, the output is build=true, and the next steps build the source of the action.
#
# If gh is installed and has a token (GH_TOKEN), it verifies that the repository's release workflow built the archive.
#
# Outputs: path of the binary; build, true if it must be built; go-version for the build.
set -euo pipefail

say() { echo "kalypso: $*"; }
fail() {
  echo "::error::kalypso: $*"
  exit 1
}

# The runner keeps an action in _actions/OWNER/NAME/REF. github.action_ref would be that of the outermost action.
repository=kalypso-gitops/kalypso
ref=
here=${GITHUB_ACTION_PATH//\\//}
if [[ $here =~ /_actions/([^/]+/[^/]+)/([^/]+)$ ]]; then
  repository=${BASH_REMATCH[1]}
  ref=${BASH_REMATCH[2]}
fi

wanted=${INPUT_VERSION:-}
version=${wanted:-$ref}
release='^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$'
if [[ -n $wanted && $wanted != source && ! $wanted =~ $release ]]; then
  fail "the input version is neither a release such as v1.2.3 nor \"source\""
fi

case ${RUNNER_OS:-} in
  Linux) os=linux ;;
  macOS) os=darwin ;;
  Windows) os=windows ;;
  *) os= ;;
esac
case ${RUNNER_ARCH:-} in
  X64) arch=amd64 ;;
  ARM64) arch=arm64 ;;
  *) arch= ;;
esac
program=kalypso
if [ "$os" = windows ]; then program=kalypso.exe; fi

work=$(mktemp -d "${RUNNER_TEMP//\\//}/kalypso-XXXXXX")

# finish BUILD writes the outputs.
finish() {
  echo "$work" >>"$GITHUB_PATH"
  {
    echo "path=$work/$program"
    echo "build=$1"
    echo "go-version=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' "$GITHUB_ACTION_PATH/go.mod")"
  } >>"$GITHUB_OUTPUT"
  exit 0
}

# source_instead WHY builds the source, unless a release was asked for.
source_instead() {
  if [[ -n $wanted && $wanted != source ]]; then
    fail "$wanted cannot be installed: $*"
  fi
  say "$*: building from source"
  finish true
}

# download URL FILE. Only the scheme of the server is followed, also by redirects.
download() {
  curl --silent --show-error --location --proto "=${1%%:*}" --retry 3 --connect-timeout 20 --max-time 300 \
    --write-out '%{http_code}' --output "$2" "$1"
}

sha256() {
  if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi <"$1" | cut -d ' ' -f 1
}

[[ $version =~ $release ]] || source_instead "${version:-this checkout} is no release"
[[ -n $os && -n $arch ]] || source_instead "there are no releases for ${RUNNER_OS:-this system} on ${RUNNER_ARCH:-this machine}"

cd "$work"
archive="kalypso_${version#v}_${os}_${arch}.tar.gz"
from="$GITHUB_SERVER_URL/$repository/releases/download/$version"
for file in checksums.txt "$archive"; do
  status=$(download "$from/$file" "$file") || source_instead "$from/$file cannot be downloaded"
  [ "$status" = 200 ] || source_instead "$from/$file is not there (HTTP $status)"
done

# From here on, an error means that the release is wrong: do not build the source instead.
expected=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' checksums.txt)
[[ $expected =~ ^[0-9a-f]{64}$ ]] || fail "checksums.txt of $version does not have exactly one SHA-256 for $archive"
actual=$(sha256 "$archive")
[ "$actual" = "$expected" ] || fail "$archive has the SHA-256 $actual, but checksums.txt of $version has $expected"
# checksums.txt has the same origin as the archive. The attestation names the workflow that built the archive, and
# permission to change a release is not enough to create one.
host=${GITHUB_SERVER_URL#*://}
if ! gh attestation verify --help >/dev/null 2>&1; then
  say "the attestation is not verified: gh is missing or too old"
elif ! gh auth token --hostname "$host" >/dev/null 2>&1; then
  say "the attestation is not verified: gh has no token for $host"
elif ! said=$(GH_HOST=$host gh attestation verify "$archive" --repo "$repository" \
  --signer-workflow "$repository/.github/workflows/release.yaml" 2>&1); then
  fail "the attestation of $archive cannot be verified: $(tail -n 1 <<<"$said" | tr -d '\r')"
else
  say "verified that $repository/.github/workflows/release.yaml built $archive"
fi
tar -xzf "$archive" "$program"
chmod +x "$program"
rm "$archive" checksums.txt
say "installed $version"
finish false
