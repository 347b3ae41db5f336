#!/usr/bin/env bash
# build.sh: build what is missing in $E2E_BIN from Go modules: the API server, the controller manager and kubectl of
# Kubernetes, and the source and kustomize controllers of Flux. About 20 minutes on two cores.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

kubernetes=v1.34.4
version=k8s.io/component-base/version
# mod/k8s and mod/flux only require other modules. mod/artifact replaces github.com/fluxcd/pkg/artifact, which not every
# module proxy has. go adds indirect requirements to go.mod, so it works on a copy.
rm -rf "$E2E/mod"
mkdir -p "$E2E" "$E2E_BIN"
cp -R "$HERE/mod" "$E2E/mod"
export GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=0

# build MODULE LDFLAGS PACKAGE...
build() {
  local module=$1 flags=$2 package
  shift 2
  for package; do
    [ -x "$E2E_BIN/${package##*/}" ] && continue
    echo "build ${package##*/}"
    nice go -C "$E2E/mod/$module" build -buildvcs=false -trimpath -ldflags "-s -w $flags" -o "$E2E_BIN/" "$package"
  done
}
# Without these flags the API server calls itself v0.0.0-master.
build k8s "-X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=34" \
  k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kubectl}
build flux "" github.com/fluxcd/{source-controller,kustomize-controller}

[ -d "$E2E/crds" ] && exit
mkdir -p "$E2E/crds.new"
for controller in source-controller kustomize-controller; do
  go -C "$E2E/mod/flux" mod download "github.com/fluxcd/$controller"
  cp "$(go -C "$E2E/mod/flux" list -m -f '{{.Dir}}' "github.com/fluxcd/$controller")"/config/crd/bases/*.yaml "$E2E/crds.new/"
done
chmod -R u+w "$E2E/crds.new"
mv "$E2E/crds.new" "$E2E/crds"
