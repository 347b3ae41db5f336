# Load it with ". ./env.sh": kalypso then reads https://github.com/acme/... from repositories/ here, and nothing else.
export KALYPSO_CONTROL_PLANE=https://github.com/acme/control-plane
export KALYPSO_REPLACE=[[sh .Replace]]
export KALYPSO_INTERVAL=1s # simulated clusters answer at once
