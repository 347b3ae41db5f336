package template

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const fluxTemplate = `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: {{ .Workload }}-{{ index .Labels "app" }}
  namespace: flux-system
spec:
  interval: 30s
  url: "{{ .Manifests.repo }}"
  ref:
    branch: "{{ .Manifests.branch }}"
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {{ .Workload }}-{{ index .Labels "app" }}
  namespace: flux-system
spec:
  interval: 30s
  targetNamespace: "{{ .Environment }}-{{ .Cluster.Name }}-{{ .Workload }}"
  sourceRef:
    kind: GitRepository
    name: {{ .Workload }}-{{ index .Labels "app" }}
  path: "{{ .Manifests.path }}"
  prune: true
`

const configTemplate = `apiVersion: v1
kind: ConfigMap
metadata:
  name: platform-config
  namespace: {{ .Environment }}
data:
{{ toYaml .ConfigData | indent 2 }}
`

func BenchmarkExecute(b *testing.B) {
	for name, text := range map[string]string{"flux": fluxTemplate, "config": configTemplate} {
		b.Run(name, func(b *testing.B) {
			template := mustParse(b, text)
			d := newEngineData()
			d.ConfigData = map[string]any{
				"region": "eu", "db": map[string]any{"host": "h", "port": 5432}, "list": []any{"a", "b"}, "url": "https://x",
			}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_, _, err := template.Execute(d, Bounds{})
					require.NoError(b, err)
				}
			})
		})
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		mustParse(b, fluxTemplate)
	}
}
