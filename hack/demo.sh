#!/bin/sh
# demo.sh: compile a copy of the sample fleet with ./kalypso, folders standing in for its repositories, and show the
# result; then change one value and show what that would publish.
set -eu
work=build/demo
fleet=$work/fleet
gitops=$work/gitops
log=$work/notices.txt

headline() { printf '\n== %s\n' "$*"; }

# compile runs ./kalypso; what it says on stderr, which validate has shown once, only if it fails.
compile() {
  ./kalypso "$@" 2>"$log" || {
    status=$?
    [ "$status" -eq 4 ] || cat "$log" >&2
    return "$status"
  }
}

rm -rf "$work"
mkdir -p "$gitops"
cp -R testdata/fleets/harvest/in "$fleet"

# replace.txt says which folder stands in for which repository: URL=FOLDER.
set -- --control-plane "$fleet/control-plane" --replace "https://github.com/oatwick-grocers/harvest-gitops=$gitops"
while IFS='=' read -r url folder; do
  case $url in '' | '#'*) continue ;; esac
  set -- "$@" --replace "$url=$fleet/$folder"
done <"$fleet/replace.txt"

headline "kalypso validate: every environment of the sample fleet, testdata/fleets/harvest"
./kalypso validate "$@"

headline "kalypso render --env dev --output-dir $gitops/dev"
compile render --env dev "$@" --output-dir "$gitops/dev"

headline "the tree: cluster type / deployment target / manifests"
(cd "$gitops/dev" && find . -type f | LC_ALL=C sort | sed 's|^\./|  |')

headline "kalypso render --env dev --dry-run: the load test gets 24 replicas, not 12"
config=$fleet/control-plane/dev/configs/targets.yaml
sed 's/REPLICAS: "12"/REPLICAS: "24"/' "$config" >"$work/edited"
mv "$work/edited" "$config"
status=0
compile render --env dev "$@" --dry-run --exit-code || status=$?
if [ "$status" -ne 4 ]; then # 4: there are changes
  echo "demo: the edited value should change a file: exit code 4, not $status" >&2
  exit 1
fi
