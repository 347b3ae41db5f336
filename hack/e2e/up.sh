#!/usr/bin/env bash
# up.sh CLUSTER...: start etcd, a Git server (nginx, git http-backend, TLS), and for each cluster an API server, a controller
# manager and Flux. All listen on loopback only. The clusters have no nodes, so pods do not start. down.sh stops everything.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
PATH=$PATH:/usr/sbin
umask 022
pki=$RUN/pki
mkdir -p "$pki" "$RUN"/{pids,logs,git,kube,nginx,data}

# certificate NAME SUBJECT
certificate() {
  [ -f "$pki/$1.crt" ] && return
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$2" -keyout "$pki/$1.key" -out "$pki/$1.csr" 2>/dev/null
  openssl x509 -req -in "$pki/$1.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -days 30 -out "$pki/$1.crt" \
    -extfile <(printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n') 2>/dev/null
}
if [ ! -f "$pki/ca.crt" ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=e2e-ca -keyout "$pki/ca.key" \
    -out "$pki/ca.crt" -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
  openssl genrsa -out "$pki/sa.key" 2048 2>/dev/null
  openssl rsa -in "$pki/sa.key" -pubout -out "$pki/sa.pub" 2>/dev/null
fi
certificate server /CN=localhost
certificate admin /O=system:masters/CN=admin
certificate check /CN=kalypso-check # the identity of check-promote

# kubeconfig USER CLUSTER... prints a kubeconfig with a context for each cluster.
kubeconfig() {
  local user=$1 c
  shift
  printf 'apiVersion: v1\nkind: Config\ncurrent-context: %s\nclusters:\n' "$1"
  for c; do printf -- '- {name: %s, cluster: {server: "https://127.0.0.1:%s", certificate-authority: %s/ca.crt}}\n' "$c" "${PORT[$c]}" "$pki"; done
  printf 'users:\n- {name: %s, user: {client-certificate: %s/%s.crt, client-key: %s/%s.key}}\ncontexts:\n' "$user" "$pki" "$user" "$pki" "$user"
  for c; do printf -- '- {name: %s, context: {cluster: %s, user: %s}}\n' "$c" "$c" "$user"; done
}
kubeconfig admin "${!PORT[@]}" >"$RUN/kube/admin"
kubeconfig check "${!PORT[@]}" >"$RUN/kube/check"
for c in "${!PORT[@]}"; do kubeconfig admin "$c" >"$RUN/kube/$c"; done

# start NAME COMMAND... starts a process in a session of its own, unless it runs.
start() {
  local name=$1
  shift
  if [ -f "$RUN/pids/$name" ] && kill -0 "$(cat "$RUN/pids/$name")" 2>/dev/null; then return; fi
  setsid nohup "$@" >>"$RUN/logs/$name.log" 2>&1 </dev/null &
  echo $! >"$RUN/pids/$name"
}

# ready URL waits a minute for an answer.
ready() {
  for _ in $(seq 120); do
    curl -fsS -o /dev/null --max-time 2 --cacert "$pki/ca.crt" --cert "$pki/admin.crt" --key "$pki/admin.key" "$1" 2>/dev/null && return
    sleep 0.5
  done
  echo "no answer from $1; logs: $RUN/logs" >&2
  return 1
}

etcd=http://127.0.0.1:$ETCD_PORT peers=http://127.0.0.1:$((ETCD_PORT + 1))
start etcd etcd --data-dir "$RUN/data/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
  --listen-peer-urls "$peers" --initial-advertise-peer-urls "$peers" --initial-cluster "default=$peers" \
  --log-level warn --unsafe-no-fsync
ready "$etcd/health"

cat >"$RUN/nginx/nginx.conf" <<N
daemon off; worker_processes 1; pid $RUN/nginx/pid; user root;
events { worker_connections 256; }
http {
  access_log $RUN/logs/nginx-access.log; client_max_body_size 100m;
  client_body_temp_path $RUN/nginx/b; proxy_temp_path $RUN/nginx/p; fastcgi_temp_path $RUN/nginx/f;
  uwsgi_temp_path $RUN/nginx/u; scgi_temp_path $RUN/nginx/s;
  server {
    listen 127.0.0.1:$GIT_PORT ssl;
    ssl_certificate $pki/server.crt; ssl_certificate_key $pki/server.key;
    location = /ready { return 200; }
    location / {
      fastcgi_pass unix:$RUN/nginx/cgi.sock;
      fastcgi_param SCRIPT_FILENAME $(git --exec-path)/git-http-backend;
      fastcgi_param GIT_PROJECT_ROOT $RUN/git; fastcgi_param GIT_HTTP_EXPORT_ALL 1; fastcgi_param REMOTE_USER e2e;
      fastcgi_param PATH_INFO \$uri; fastcgi_param QUERY_STRING \$query_string; fastcgi_param REQUEST_METHOD \$request_method;
      fastcgi_param CONTENT_TYPE \$content_type; fastcgi_param CONTENT_LENGTH \$content_length;
      fastcgi_param HTTP_CONTENT_ENCODING \$http_content_encoding; fastcgi_param GIT_PROTOCOL \$http_git_protocol;
    }
  }
}
N
start fcgiwrap fcgiwrap -c 4 -s "unix:$RUN/nginx/cgi.sock"
start nginx nginx -c "$RUN/nginx/nginx.conf" -e "$RUN/logs/nginx-error.log"
ready "https://127.0.0.1:$GIT_PORT/ready"

for c; do
  start "$c.apiserver" "$E2E_BIN/kube-apiserver" --etcd-servers "$etcd" --etcd-prefix "/$c" --bind-address 127.0.0.1 \
    --secure-port "${PORT[$c]}" --advertise-address 127.0.0.1 --endpoint-reconciler-type none \
    --tls-cert-file "$pki/server.crt" --tls-private-key-file "$pki/server.key" --client-ca-file "$pki/ca.crt" \
    --authorization-mode RBAC --service-account-key-file "$pki/sa.pub" --service-account-signing-key-file "$pki/sa.key" \
    --service-account-issuer https://kubernetes.default.svc --service-cluster-ip-range 10.96.0.0/24 \
    --disable-admission-plugins ServiceAccount
done
export SSL_CERT_FILE=$pki/ca.crt KUBECACHEDIR=$RUN/data/kubecache # source-controller trusts the Git server
for c; do
  # Controllers of several clusters must not share temporary files.
  export KUBECONFIG=$RUN/kube/$c RUNTIME_NAMESPACE=flux-system TMPDIR=$RUN/tmp/$c
  mkdir -p "$TMPDIR" "$RUN/data/$c"
  ready "https://127.0.0.1:${PORT[$c]}/readyz"
  start "$c.controller-manager" "$E2E_BIN/kube-controller-manager" --kubeconfig "$KUBECONFIG" \
    --controllers namespace-controller,garbage-collector-controller,deployment-controller,replicaset-controller \
    --bind-address 127.0.0.1 --secure-port $((PORT[$c] + 100)) --leader-elect=false --cert-dir "$RUN/data/$c"
  "$E2E_BIN/kubectl" apply --server-side -f "$E2E/crds" >"$RUN/logs/$c.crds.log"
  "$E2E_BIN/kubectl" wait --for condition=established --timeout 60s crds --all >>"$RUN/logs/$c.crds.log" # Flux ends without its CRDs
  "$E2E_BIN/kubectl" create namespace flux-system >>"$RUN/logs/$c.crds.log" 2>&1 || true # exists already if the cluster returns
  p=$((PORT[$c] + 1000))
  start "$c.source-controller" "$E2E_BIN/source-controller" --storage-path "$RUN/data/$c" --storage-addr "127.0.0.1:$p" \
    --storage-adv-addr "127.0.0.1:$p" --metrics-addr "127.0.0.1:$((p + 20))" --health-addr "127.0.0.1:$((p + 40))"
  # With this feature gate a fix is applied at once, without it after the timeout of the health check (let-clusters-pull.md).
  start "$c.kustomize-controller" "$E2E_BIN/kustomize-controller" \
    --feature-gates CancelHealthCheckOnNewRevision=true \
    --metrics-addr "127.0.0.1:$((p + 60))" --health-addr "127.0.0.1:$((p + 80))"
done
