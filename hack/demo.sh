#!/bin/sh
# demo.sh: walk a commit from dev to prod with ./kalypso, on the sample fleet in build/demo, and show what people see.
set -eu
kalypso=$PWD/kalypso
demo=$PWD/build/demo

headline() { printf '\n== %s\n' "$*"; }

control_plane() { git -C control-plane "$@"; }
gitops() { git -C gitops "$@"; }

# Whoever runs the demo has settings and credentials of his own, which are none of its business.
for name in $(env | sed -n 's/^\(KALYPSO_[A-Z0-9_]*\)=.*/\1/p') GITHUB_TOKEN GH_TOKEN; do unset "$name"; done
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_PAGER=cat
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@acme.example GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@acme.example
# The same commits, and so the same ids, every time.
export GIT_AUTHOR_DATE=2026-01-06T10:00:00Z GIT_COMMITTER_DATE=2026-01-06T10:00:00Z

headline "kalypso init --sample build/demo: repositories, a control plane and simulated clusters"
rm -rf "$demo"
"$kalypso" init --sample build/demo | sed 1q
cd "$demo"
. ./env.sh

headline "kalypso validate: every environment compiles"
"$kalypso" validate

headline "a commit to main of the control plane: the loyalty team is onboarded"
cat >control-plane/registrations/loyalty.yaml <<'EOF'
apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata:
  name: loyalty
spec:
  workload:
    repo: https://github.com/acme/loyalty
    branch: main
  workspace: loyalty-team
EOF
control_plane add registrations
control_plane commit --quiet -m 'Onboard loyalty'
control_plane push --quiet
control_plane show --stat --format='%h %s'

headline "kalypso promote --env dev: dev gets it"
"$kalypso" promote --env dev

headline "kalypso render --env dev: publish what comes of it"
"$kalypso" render --env dev --save-body pull-request.md

headline "what a reviewer sees, without what is folded (all of it: build/demo/pull-request.md)"
sed -e '/<details>/,/<\/details>/d' pull-request.md | cat -s

headline "the manifests that the clusters of one type pull once it is merged"
merge dev
gitops ls-tree -r --name-only dev cloud | sed 's|^|  |'

headline "kalypso check-promote --env dev: do the clusters run it? Then stage gets it"
"$kalypso" check-promote --env dev --fleet command:./clusters.sh 2>/dev/null

for environment in stage prod; do
  headline "the same for $environment: render, merge, check"
  "$kalypso" render --env "$environment" | sed 1q
  merge "$environment"
  "$kalypso" check-promote --env "$environment" --fleet command:./clusters.sh 2>/dev/null
done

headline "kalypso render --env dev, once more: nothing has changed, so nothing is pushed"
"$kalypso" render --env dev

headline "build/demo is yours to play with: see README.md there"
