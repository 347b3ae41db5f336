#!/usr/bin/env bash
# run.sh: deploy a fleet to two clusters with Flux, break it and fix it. The control plane is that of kalypso init, and the
# clusters get the manifests of docs/. Checks what check-promote reports and what the clusters have.
# Argo CD is not part of this test.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
"$HERE/needs.sh" || exit 1
"$HERE/build.sh"

# Settings and credentials of the user have no effect.
for name in $(env | sed -n 's/^\(KALYPSO_[A-Z0-9_]*\)=.*/\1/p') GITHUB_TOKEN GH_TOKEN; do unset "$name"; done
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@acme.example GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@acme.example
export GIT_SSL_CAINFO=$RUN/pki/ca.crt SSL_CERT_FILE=$RUN/pki/ca.crt KUBECONFIG=$RUN/kube/admin KUBECACHEDIR=$RUN/data/kubecache
export PATH=$ROOT:$E2E_BIN:$PATH
forge=https://127.0.0.1:$GIT_PORT/acme
export KALYPSO_CONTROL_PLANE=$forge/control-plane
clusters=(cloud-1 edge-1)

trap '"$HERE/down.sh"' EXIT
"$HERE/down.sh"
rm -rf "$RUN"
mkdir -p "$RUN/work"
"$HERE/up.sh" "${clusters[@]}"
cd "$RUN/work"

passed=0 failed=0
headline() { printf '\n== %s (%ds)\n' "$*" "$SECONDS"; }

# is TEXT GOT WANT
is() {
  if [ "$2" = "$3" ]; then
    passed=$((passed + 1))
    echo "ok   $1"
  else
    failed=$((failed + 1))
    echo "FAIL $1: got '$2', want '$3'"
  fi
}

# check CODE TEXT FLAG... runs check-promote, which must end with this exit code and print this text.
check() {
  local want=$1 text=$2 code=0 got=$2
  shift 2
  KUBECONFIG=$RUN/kube/check kalypso check-promote --env dev --interval 2s "$@" >check.txt 2>&1 || code=$?
  { printf '\n== check-promote %s: %d\n' "$*" $code; cat check.txt; } >>"$RUN/logs/check-promote.log"
  grep -qF -- "$text" check.txt || got=$(cat check.txt)
  is "check-promote${*:+ $*}: $text" "$code $got" "$want $text"
}

# within TEXT WANT COMMAND... repeats the command for half a minute until it prints WANT.
within() {
  local text=$1 want=$2 got
  shift 2
  for _ in $(seq 30); do
    got=$("$@" 2>/dev/null) || true
    [ "$got" != "$want" ] || break
    sleep 1
  done
  is "$text" "$got" "$want"
}

# value CLUSTER NAMESPACE CONFIGMAP KEY
value() { kubectl --context "$1" --namespace "$2" get configmap "$3" -o "jsonpath={.data.$4}"; }
# count CLUSTER RESOURCE
count() { kubectl --context "$1" get "$2" --all-namespaces -o name | grep -c "${3:-.}" || true; }

# reconcile does what "flux reconcile" does, for all sources and then all Kustomizations.
reconcile() {
  local c kind
  for kind in gitrepositories kustomizations; do
    for c in "${clusters[@]}"; do
      kubectl --context "$c" --namespace flux-system annotate --overwrite --all "$kind" \
        "reconcile.fluxcd.io/requestedAt=$(date +%s%N)" >/dev/null
    done
    sleep 2
  done
}

commit() { # DIRECTORY MESSAGE
  git -C "$1" add --all
  git -C "$1" commit --quiet --message "$2"
  git -C "$1" push --quiet
}
switch() { # BRANCH of the control plane
  git -C control-plane fetch --quiet
  git -C control-plane switch --quiet "$1"
  git -C control-plane pull --quiet
}
merge() { # the pull request into dev
  git -C gitops fetch --quiet
  git -C gitops switch --quiet dev
  git -C gitops merge --quiet --message 'Merge deployment/dev' origin/deployment/dev
  git -C gitops push --quiet
}
render() {
  kalypso render --env dev >render.txt 2>&1 || { cat render.txt; return 1; }
  merge
}

# yaml FILE HEADING prints the first YAML block below a heading of a document.
yaml() {
  awk -v heading="$2" '$0 == heading { below = 1 } below && /^```$/ && inside { exit } inside { print } below && /^```yaml$/ { inside = 1 }' "$ROOT/$1"
}

# connect CLUSTER CLUSTERTYPE follows let-clusters-pull.md and the permissions of promotion.md.
connect() {
  { yaml docs/reference/promotion.md '### flux'
    printf -- '---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: kalypso-check}\n'
    printf 'roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kalypso-check}\n'
    printf 'subjects: [{kind: User, name: kalypso-check, apiGroup: rbac.authorization.k8s.io}]\n'
  } | kubectl --context "$1" apply -f - >/dev/null
  secret "$1"
  yaml docs/how-to/let-clusters-pull.md '## Flux' | sed "s|https://github.com/acme/gitops|$forge/gitops|; s|path: ./cloud|path: ./$2|" |
    kubectl --context "$1" apply -f - >/dev/null
}
secret() { kubectl --context "$1" --namespace flux-system create secret generic platform --from-literal=username=git --from-literal=password=x >/dev/null; }

# target NAME ENVIRONMENT BRANCH [LABELS]
target() {
  printf '    - name: %s\n      environment: %s\n      labels: {%s}\n' "$1" "$2" "${4-}"
  printf '      manifests: {repo: %s/shop-manifests, branch: %s, path: ./%s}\n' "$forge" "$3" "$1"
}
# workload TARGET... writes the workload of the shop.
workload() {
  { printf 'apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: shop, labels: {type: application}}\n'
    printf 'spec:\n  deploymentTargets:\n'
    printf '%s\n' "$@"
  } >shop/workload.yaml
}
functional=$(target functional-test dev dev)
performance=$(target performance-test dev dev 'edge: "true"')
uat=$(target uat stage stage)

for repository in control-plane gitops shop shop-manifests; do
  git init --quiet --bare --initial-branch main "$RUN/git/acme/$repository"
  git -C "$RUN/git/acme/$repository" config http.receivepack true
  git -C "$RUN/git/acme/$repository" config uploadpack.allowFilter true
done

headline "set up: init, an application, a second cluster type"
for repository in shop shop-manifests; do
  git init --quiet --initial-branch main $repository
  git -C $repository remote add origin "$forge/$repository"
  git -C $repository config push.autoSetupRemote true
done
workload "$functional" "$performance" "$uat"
commit shop 'Add the shop'
git -C shop-manifests switch --quiet --create dev
for name in functional-test performance-test; do
  mkdir shop-manifests/$name
  printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {version: "1"}\n' >shop-manifests/$name/app.yaml
done
commit shop-manifests 'Add manifests'

kalypso init . --control-plane "$forge/control-plane" --gitops "$forge/gitops" --env dev --env stage --fleet dev=flux:cloud-1,edge-1 >init.txt
git -C gitops push --quiet --all --set-upstream origin
git -C control-plane push --quiet --all --set-upstream origin
git -C control-plane rm --quiet registrations/hello-world.yaml
mkdir -p control-plane/registrations
printf 'apiVersion: scheduler.kalypso.io/v1alpha1\nkind: WorkloadRegistration\nmetadata: {name: shop}\nspec: {workload: {repo: %s/shop, branch: main}, workspace: shop-team}\n' \
  "$forge" >control-plane/registrations/shop.yaml
commit control-plane 'Register the shop'
switch dev
(cd control-plane
  sed 's/name: cloud/name: edge/; s/site: cloud/site: edge/' cluster-types/cloud.yaml >cluster-types/edge.yaml
  sed 's/name: applications/name: edge/; s/type: application/edge: "true"/; s/site: cloud/site: edge/' policies/applications.yaml >policies/edge.yaml)
commit control-plane 'Add the cluster type edge'

headline "publish and pull"
code=0
kalypso promote --env dev >promote.txt 2>&1 || code=$?
is promote $code 0
code=0
kalypso render --env dev >render.txt 2>&1 || code=$?
is render $code 0
merge
check 3 'forbidden' --once # without permissions
connect cloud-1 cloud
connect edge-1 edge
check 0 '2 of 2 clusters deployed'
is "edge-1 has the manifests of the application" "$(value edge-1 dev-edge-shop-performance-test shop version)" 1
is "cloud-1 has the configuration" "$(value cloud-1 dev-cloud-shop-functional-test platform-config ENVIRONMENT)" dev
is "stage has the commit of dev" "$(git -C control-plane fetch -q && git -C control-plane show origin/stage:base-repo.yaml | grep -c "$(git -C control-plane rev-parse main)")" 1

headline "change a value"
switch dev
sed -i 's/ENVIRONMENT: dev/&\n  LEVEL: debug/' control-plane/configs/all.yaml
commit control-plane 'Log more'
render
check 5 'behind' --once
reconcile
check 0 '2 of 2 clusters deployed'
is "cloud-1 has the new value" "$(value cloud-1 dev-cloud-shop-functional-test platform-config LEVEL)" debug

# broken TEXT publishes what is in shop-manifests, and check-promote must fail with TEXT. fixed reverts it.
broken() {
  commit shop-manifests 'Break the application'
  reconcile
  check 1 "$1" --failure-grace 5s
}
fixed() {
  git -C shop-manifests revert --no-edit HEAD >/dev/null
  git -C shop-manifests push --quiet
  reconcile
  check 0 '2 of 2 clusters deployed'
}

headline "an unknown kind"
sed -i 's/^kind: ConfigMap/kind: ConfigMop/' shop-manifests/functional-test/app.yaml
broken 'no matches for kind "ConfigMop"'
fixed

headline "a manifest that the API server refuses"
sed -i 's/^data: .*/data: [1]/' shop-manifests/functional-test/app.yaml
broken 'ConfigMap/dev-cloud-shop-functional-test/shop'
is "cloud-1 has the previous version" "$(value cloud-1 dev-cloud-shop-functional-test shop version)" 1
fixed

headline "a kind that a tenant may not use"
printf 'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: shop}\nrules: []\n' >shop-manifests/functional-test/role.yaml
broken 'forbidden'
is "cloud-1 does not have it" "$(count cloud-1 clusterroles '/shop$')" 0
fixed

headline "a Deployment that never becomes available"
cat >shop-manifests/functional-test/deployment.yaml <<Y
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  progressDeadlineSeconds: 10
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: shop.example/shop:1}]}
Y
broken 'Deployment/dev-cloud-shop-functional-test/shop'
fixed
within "the Deployment is removed" 0 count cloud-1 deployments

headline "a branch that does not exist"
workload "$(target functional-test dev nowhere)" "$performance" "$uat"
commit shop 'Pull another branch'
render
reconcile
check 1 "couldn't find remote ref" --failure-grace 5s
is "cloud-1 has the previous version" "$(value cloud-1 dev-cloud-shop-functional-test shop version)" 1
git -C shop revert --no-edit HEAD >/dev/null
git -C shop push --quiet
render
reconcile
check 0 '2 of 2 clusters deployed'

headline "the Secret of the source is missing"
kubectl --context edge-1 --namespace flux-system delete secret platform >/dev/null
switch dev
sed -i 's/LEVEL: debug/LEVEL: info/' control-plane/configs/all.yaml
commit control-plane 'Log less'
render
reconcile
check 5 '1 of 2 clusters deployed' --timeout 20s
is "cloud-1 has the new value" "$(value cloud-1 dev-cloud-shop-functional-test platform-config LEVEL)" info
is "edge-1 has the previous value" "$(value edge-1 dev-edge-shop-performance-test platform-config LEVEL)" debug
secret edge-1
reconcile
check 0 '2 of 2 clusters deployed'

headline "roll back a commit of main"
switch main
before=$(git -C control-plane rev-parse main)
echo '          team: platform' >>control-plane/templates/namespace.yaml
commit control-plane 'Label namespaces'
kalypso promote --env dev >promote.txt 2>&1
render
reconcile
check 0 '2 of 2 clusters deployed' --next=
label() { kubectl --context cloud-1 get namespace dev-cloud-shop-functional-test -o 'jsonpath={.metadata.labels.team}'; }
is "cloud-1 has the label" "$(label)" platform
kalypso promote --env dev --commit "$before" --rollback --skip-gates --render >promote.txt 2>&1
merge
reconcile
check 0 '2 of 2 clusters deployed'
is "cloud-1 does not have the label" "$(label)" ''

headline "a suspended Kustomization"
suspend() { kubectl --context edge-1 --namespace flux-system patch kustomization platform --type merge --patch "{\"spec\":{\"suspend\":$1}}" >/dev/null; }
suspend true
switch dev
sed -i 's/LEVEL: info/LEVEL: warn/' control-plane/configs/all.yaml
commit control-plane 'Log even less'
render
reconcile
check 5 'suspended' --timeout 20s
is "edge-1 has the previous value" "$(value edge-1 dev-edge-shop-performance-test platform-config LEVEL)" info
suspend false
reconcile
check 0 '2 of 2 clusters deployed'

headline "a cluster that is away"
"$HERE/down.sh" edge-1
check 5 'cannot be reached' --timeout 20s
check 0 '1 of 2 clusters deployed' --healthy 1
"$HERE/up.sh" edge-1
check 0 '2 of 2 clusters deployed'

headline "a new cluster joins"
clusters+=(cloud-2)
"$HERE/up.sh" cloud-2
switch main
sed -i 's/flux:cloud-1,edge-1/flux:cloud-1,edge-1,cloud-2/' control-plane/.environments/dev.yaml
commit control-plane 'Add cloud-2'
check 5 '2 of 3 clusters deployed' --timeout 20s
connect cloud-2 cloud
check 0 '3 of 3 clusters deployed'
is "cloud-2 has the manifests of the application" "$(value cloud-2 dev-cloud-shop-functional-test shop version)" 1

headline "retire a target"
workload "$functional" "$uat"
commit shop 'Retire the performance test'
render
reconcile
check 0 '3 of 3 clusters deployed'
within "cloud-1 has one namespace of dev" 1 count cloud-1 namespaces /dev-
within "edge-1 has none" 0 count edge-1 namespaces /dev-
within "edge-1 has only the Kustomization platform" 1 count edge-1 kustomizations

printf '\n%d passed, %d failed, %ds\n' "$passed" "$failed" "$SECONDS"
[ "$failed" = 0 ] || { echo "logs: $RUN/logs"; exit 1; }
