#!/usr/bin/env bash
# browser.sh: make reports of the sample fleet, with hostile values in it, and of a large one, and try them in a headless
# Chromium, which must be installed. SCREENSHOTS=FOLDER keeps pictures.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$PWD/build/browser
rm -rf "$work"
mkdir -p "$work"
make -s build

cp -R testdata/fleets/harvest/in "$work/fleet"
cat >"$work/fleet/control-plane/dev/hostile.yaml" <<'YAML'
apiVersion: scheduler.kalypso.io/v1alpha1
kind: DeploymentTarget
metadata:
  name: hostile
  labels: {purpose: hostile}
spec:
  environment: dev
  manifests: {repo: https://github.com/oatwick-grocers/storefront, branch: main, path: ./x}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata:
  name: hostile
spec:
  deploymentTargetSelector:
    labelSelector:
      matchLabels: {purpose: hostile}
  clusterTypeSelector:
    labelSelector:
      matchLabels: {type: cloud}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: 99-hostile
  labels: {platform-config: "true", type: cloud}
data:
  HOSTILE: "</script><script>document.title='hacked'</script><img src=x onerror=document.title='hacked'>"
YAML
(cd "$work/fleet" && KALYPSO_REPLACE=$(cat replace.txt) "$OLDPWD/kalypso" report "$work/report.html" --control-plane control-plane) 2>"$work/log" ||
  { cat "$work/log"; exit 1; }

go run ./hack/bench -folders "$work/large" -sizes 100k
./kalypso report "$work/large.html" --control-plane "$work/large/control-plane" --replace "https://github.com/acme/*=$work/large/*" 2>"$work/log" ||
  { cat "$work/log"; exit 1; }
ls -lh "$work"/*.html
cd tools/browser
REPORT=$work/report.html LARGE_REPORT=$work/large.html go test -count=1 -v ./...
