#!/bin/sh
# demo.sh: publish a copy of the sample fleet with ./kalypso to a bare GitOps repository, folders standing in for the
# other repositories, and show what a reviewer would see; merge it, change one value, and show what that would publish.
set -eu
work=build/demo
fleet=$work/fleet
gitops=$work/gitops.git
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

# git_ops runs git in the GitOps repository, without the configuration of the machine.
git_ops() {
  GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null git -c user.name=Reviewer -c user.email=reviewer@example.com \
    -c core.pager=cat --git-dir="$gitops" "$@"
}

rm -rf "$work"
mkdir -p "$work"
cp -R testdata/fleets/harvest/in "$fleet"
git_ops init --quiet --bare --initial-branch=dev "$gitops"

# replace.txt says which folder stands in for which repository: URL=FOLDER.
set -- --control-plane "$fleet/control-plane" --replace "https://github.com/oatwick-grocers/harvest-gitops=$gitops"
while IFS='=' read -r url folder; do
  case $url in '' | '#'*) continue ;; esac
  set -- "$@" --replace "$url=$fleet/$folder"
done <"$fleet/replace.txt"

headline "kalypso validate: every environment of the sample fleet, testdata/fleets/harvest"
./kalypso validate "$@"

headline "kalypso render --env dev: publish it to a GitOps repository, $gitops"
compile render --env dev "$@" --create-branch --save-body "$work/pull-request.md"

headline "what a reviewer sees: the pull request, without what is folded ($work/pull-request.md has it)"
sed -e '/<details>/,/<\/details>/d' "$work/pull-request.md" | cat -s

headline "and the commit"
git_ops log -1 --format='%h %an%n%n%B' deployment/dev

headline "the tree: cluster type / deployment target / manifests"
git_ops ls-tree -r --name-only deployment/dev | sed 's|^|  |'

headline "kalypso render --env dev, once more: the commit is the same, so nothing is pushed"
compile render --env dev "$@" | tail -1

headline "merged, and then the load test gets 24 replicas, not 12: kalypso render --env dev --dry-run"
merge=$(git_ops commit-tree -p dev -p deployment/dev -m 'Merge deployment/dev' 'deployment/dev^{tree}')
git_ops update-ref refs/heads/dev "$merge"
config=$fleet/control-plane/dev/configs/targets.yaml
sed 's/REPLICAS: "12"/REPLICAS: "24"/' "$config" >"$work/edited"
mv "$work/edited" "$config"
status=0
compile render --env dev "$@" --dry-run --exit-code || status=$?
if [ "$status" -ne 4 ]; then # 4: there are changes
  echo "demo: the edited value should change a file: exit code 4, not $status" >&2
  exit 1
fi
