#!/usr/bin/env bash
# snapshot.sh: make a release of what is here, without publishing it and without what needs the network or other programs
# than Go, and try it: names and checksums, what is in the archives, the program and the action that installs it. Then
# make it again from a clone in another directory, which must give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse HEAD)

fail() {
  echo "snapshot: $*" >&2
  exit 1
}

# release makes it in the current directory.
release() {
  go tool -modfile=tools/release/go.mod goreleaser release --snapshot --clean --skip=sbom,sign,docker,publish
}

# archive SYSTEM prints the name of its archive; install.sh looks for the same.
archive() {
  echo "kalypso_${version}_$1.tar.gz"
}

sha256() {
  if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

release
version=$(sed -n 's/.*"version":"\([^"]*\)".*/\1/p' dist/metadata.json)
[ -n "$version" ] || fail "dist/metadata.json has no version"

(cd dist && sha256 --check checksums.txt)
for system in {linux,darwin,windows}_{amd64,arm64}; do
  name=$(archive "$system")
  grep -q "  $name\$" dist/checksums.txt || fail "checksums.txt does not have $name"
  inside=$(tar -tzf "dist/$name")
  program=kalypso
  if [[ $system == windows_* ]]; then program=kalypso.exe; fi
  for file in $program LICENSE README.md completions/kalypso.{bash,zsh,fish,ps1} man/man1/kalypso{,-render}.1; do
    grep -qx "$file" <<<"$inside" || fail "$name has no $file"
  done
done

work=build/snapshot
rm -rf "$work"
mkdir -p "$work/unpacked"
tar -xzf "dist/$(archive "$(go env GOHOSTOS)_$(go env GOHOSTARCH)")" -C "$work/unpacked"
said=$("$work/unpacked/kalypso" version)
printf '%s\n' "$said"
grep -qxE "commit +$commit( and changes that are not committed)?" <<<"$said" || fail "the program does not say that it is of $commit"

DIST=$PWD/dist SNAPSHOT=v$version go test -count=1 -run TestActionInstallsSnapshot -v .

if [ -n "$(git status --porcelain)" ]; then
  echo "SKIPPED: that the program is of this commit alone, and made again from a clone: there are changes that are not committed, which a clone does not have"
  exit 0
fi
grep -qxE "commit +$commit" <<<"$said" || fail "the program says that there are changes, and there are none"
git clone --quiet . "$work/again"
(cd "$work/again" && release)
diff dist/checksums.txt "$work/again/dist/checksums.txt" || fail "another build has other bytes"
rm -rf "$work"
echo "snapshot: all well, and the same bytes twice"
