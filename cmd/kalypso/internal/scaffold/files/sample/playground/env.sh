# Load with ". ./env.sh": kalypso then reads repositories/ instead of https://github.com/acme/...
export KALYPSO_CONTROL_PLANE=https://github.com/acme/control-plane
export KALYPSO_REPLACE=[[sh .Replace]]
export KALYPSO_INTERVAL=1s # simulated clusters answer at once
