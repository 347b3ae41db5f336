# Load with ". ./env.sh": kalypso then reads repositories/ instead of https://github.com/acme/...
export KALYPSO_CONTROL_PLANE=https://github.com/acme/control-plane
export KALYPSO_REPLACE=[[sh .Replace]]
export KALYPSO_INTERVAL=1s # simulated clusters answer at once

# merge ENVIRONMENT merges the branch that kalypso render pushed, like the merge button of a pull request.
merge() {
  git -C gitops fetch --quiet && git -C gitops switch --quiet "$1" &&
    git -C gitops merge --quiet "origin/deployment/$1" && git -C gitops push --quiet
}
