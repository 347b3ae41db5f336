package fleettest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A topic is a config of the whole fleet and the keys that it sets. Narrower ones override some.
type topic struct {
	name string
	keys []string
}

func topics() []topic {
	return []topic{
		{"network", []string{"ALLOWED_ORIGINS", "DNS_ZONE", "INGRESS_CLASS", "PORT", "PROBES", "RATE_LIMIT", "REQUEST_TIMEOUT_SECONDS", "RETRY_LIMIT"}},
		{"observability", []string{"ALERTS", "LOGGING", "LOG_LEVEL", "METRICS_URL", "TRACE_SAMPLING", "TRACING_URL"}},
		{"security", []string{"AUDIT", "CA_BUNDLE", "IDENTITY_URL", "SESSION_MINUTES", "TLS_MIN_VERSION"}},
		{"data", []string{"BATCH_SIZE", "BROKER_URL", "CACHE_TTL_SECONDS", "CACHE_URL", "CONNECTION_POOL", "DATABASE", "DATABASE_URL", "QUEUE_DEPTH"}},
		{"runtime", []string{"API_VERSION", "REGISTRY", "REPLICAS", "RESOURCES", "SIDECARS", "STARTUP_SCRIPT", "TOLERATIONS"}},
		{"product", []string{"CATALOG_URL", "CURRENCY", "FEATURE_EXPRESSION", "FEATURE_FLAGS", "HOSTNAME", "LANGUAGES", "STATUS_PAGE_URL", "SYNC"}},
	}
}

// overridden are keys that any config may set once more. Lists of plain strings are not among them,
// as those append.
func overridden() []string {
	return []string{
		"ALERTS", "API_VERSION", "BATCH_SIZE", "BROKER_URL", "CACHE_TTL_SECONDS", "CACHE_URL", "CATALOG_URL", "CONNECTION_POOL",
		"DATABASE", "FEATURE_FLAGS", "HOSTNAME", "IDENTITY_URL", "LOGGING", "LOG_LEVEL", "METRICS_URL", "PORT", "PROBES",
		"QUEUE_DEPTH", "RATE_LIMIT", "REPLICAS", "REQUEST_TIMEOUT_SECONDS", "RESOURCES", "RETRY_LIMIT", "SESSION_MINUTES",
		"SIDECARS", "STATUS_PAGE_URL", "TRACE_SAMPLING", "TRACING_URL",
	}
}

// settings returns what makes a value of each key.
func (g *generator) settings() map[string]func() string {
	all := map[string]func() string{}
	for _, some := range []map[string]func() string{g.words(), g.numbers(), g.urls(), g.texts(), g.maps(), g.lists()} {
		maps.Copy(all, some)
	}
	return all
}

// words are single strings, quoted ones and templates among them.
func (g *generator) words() map[string]func() string {
	return map[string]func() string{
		"API_VERSION":        func() string { return fmt.Sprintf("'%d.%d0'", 1+g.IntN(3), g.IntN(10)) },
		"AUDIT":              func() string { return "required" },
		"COST_CENTER":        func() string { return fmt.Sprintf("CC-%06d", g.IntN(1_000_000)) },
		"CURRENCY":           func() string { return g.pick("EUR", "USD", "CHF", "SEK") },
		"DNS_ZONE":           func() string { return g.pick("west", "east", "central") + ".acme.example" },
		"FEATURE_EXPRESSION": func() string { return "'{basket: new}'" },
		"HOSTNAME": func() string {
			return "{{ .DeploymentTargetName }}.{{ .ClusterType }}." + g.pick("west", "east") + ".acme.example"
		},
		"INGRESS_CLASS":      func() string { return g.pick("nginx", "contour") },
		"INSTANCE":           func() string { return "{{ .Environment }}-{{ .ClusterType }}" },
		"LOG_LEVEL":          func() string { return g.pick("debug", "info", "warn", "error") },
		"MAINTENANCE_WINDOW": func() string { return g.pick("Mon", "Tue", "Sun") + " " + g.window() },
		"NODE_POOL":          func() string { return g.pick("general", "memory", "spot") + "-pool" },
		"PORT":               func() string { return fmt.Sprintf("'0%d'", 8000+g.IntN(1000)) },
		"REGION":             func() string { return g.pick("eu-west-1", "eu-north-1", "us-east-2") },
		"REGISTRY":           func() string { return "registry.acme.example/" + g.pick("base", "mirror") },
		"RELEASE_CHANNEL":    func() string { return g.pick("stable", "fast", "nightly") },
		"STORAGE_CLASS":      func() string { return g.pick("premium-ssd", "standard", "local-path") },
		"SUPPORT_EMAIL":      func() string { return fmt.Sprintf("support-%02d@acme.example", g.IntN(100)) },
		"TEAM":               func() string { return g.pick("blue", "green", "amber") + " team" },
		"TIMEZONE":           func() string { return g.pick("Europe/Berlin", "Europe/Lisbon", "America/New_York") },
		"TLS_MIN_VERSION":    func() string { return g.pick("1.2", "1.3") },
	}
}

// numbers are strings that read as such.
func (g *generator) numbers() map[string]func() string {
	between := func(low, high int) func() string {
		return func() string { return fmt.Sprint(low + g.IntN(high-low+1)) }
	}
	return map[string]func() string{
		"BATCH_SIZE": between(10, 900), "CACHE_TTL_SECONDS": between(30, 3600), "CONNECTION_POOL": between(5, 80),
		"QUEUE_DEPTH": between(100, 9000), "RATE_LIMIT": between(50, 5000), "REPLICAS": between(1, 20),
		"REQUEST_TIMEOUT_SECONDS": between(1, 60), "RETRY_LIMIT": between(0, 10), "SESSION_MINUTES": between(5, 60),
		"TRACE_SAMPLING": func() string { return fmt.Sprintf("0.%02d", 1+g.IntN(99)) },
	}
}

func (g *generator) urls() map[string]func() string {
	at := func(format string) func() string {
		return func() string { return fmt.Sprintf(format, g.pick("west", "east", "central"), g.IntN(100)) }
	}
	return map[string]func() string{
		"BROKER_URL": at("amqps://broker.%s.acme.example:5671/shop-%02d"), "CACHE_URL": at("rediss://cache.%s.acme.example:6380/%d"),
		"CATALOG_URL": at("https://catalog.%s.acme.example/api/v%d"), "DATABASE_URL": at("postgres://db.%s.acme.example:5432/shop_%02d?sslmode=verify-full"),
		"IDENTITY_URL": at("https://login.%s.acme.example/realms/realm-%02d"),
		"METRICS_URL":  at("https://metrics.%s.acme.example/api/v1/write?tenant=%d"), "MIRROR_URL": at("https://mirror.%s.acme.example/%02d"),
		"ON_CALL_URL": at("https://on-call.%s.acme.example/rota/%d"), "PROXY_URL": at("http://proxy.%s.acme.example:31%02d"),
		"STATUS_PAGE_URL": at("https://status.%s.acme.example/%d"), "TRACING_URL": at("https://traces.%s.acme.example:4317/%d"),
	}
}

// texts have several lines and are no YAML maps.
func (g *generator) texts() map[string]func() string {
	return map[string]func() string{
		"CA_BUNDLE": g.certificate,
		"NOTICE": func() string {
			return fmt.Sprintf("This cluster is looked after by rota %d.\nBefore a change to it, ask in channel shop-%02d, and have\nthe ticket at hand. Out of hours only incidents count, not wishes.\n", g.IntN(30), g.IntN(100))
		},
		"STARTUP_SCRIPT": func() string { return "#!/bin/sh\nset -eu\nexec /app/server --config /etc/app/config.yaml\n" },
	}
}

func (g *generator) certificate() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var b strings.Builder
	b.WriteString("-----BEGIN CERTIFICATE-----\n")
	for range 20 {
		for range 64 {
			b.WriteByte(letters[g.IntN(len(letters))])
		}
		b.WriteByte('\n')
	}
	return b.String() + "-----END CERTIFICATE-----\n"
}

// maps merge key by key, and the lists of maps in them by name.
func (g *generator) maps() map[string]func() string {
	return map[string]func() string{
		"DATABASE": func() string {
			return fmt.Sprintf("host: db-%02d.acme.example\nport: %d\npool:\n  min: %d\n  max: %d\n  idleTimeout: 10m\nmigrations:\n  lockTimeout: 30s\n  onStart: true\nreplicas:\n  - name: %s\n    weight: %d\n    readOnly: true\n",
				g.IntN(100), 5432+g.IntN(3), 1+g.IntN(4), 10+g.IntN(40), g.pick("first", "second"), g.IntN(100))
		},
		"FEATURE_FLAGS": func() string {
			return fmt.Sprintf("%s: %t\nloyalty:\n  enabled: %t\n  percentage: %d\n", g.pick("newBasket", "voiceOrders", "darkMode", "selfScan"), g.pick("yes", "no") == "yes", g.IntN(2) == 0, g.IntN(101))
		},
		"GATEWAY": func() string {
			return fmt.Sprintf("host: gateway-%03d.acme.example\ntls: {minVersion: \"1.2\", secretName: gateway-%d}\nroutes:\n", g.IntN(1000), g.IntN(1000)) + g.routes()
		},
		"LOGGING": func() string {
			return fmt.Sprintf("format: %s\nretentionDays: %d\nsinks:\n  - name: central\n    level: error\n    url: https://logs.acme.example/ingest\n  - name: %s\n    level: %s\n    url: https://logs-%02d.acme.example/ingest\n    batch:\n      maxBytes: 65536\n      maxWait: 5s\n",
				g.pick("json", "text"), 7+g.IntN(60), g.pick("audit", "central", "local"), g.pick("debug", "info", "warn"), g.IntN(100))
		},
		"PROBES": func() string {
			return fmt.Sprintf("liveness:\n  path: /healthz\n  periodSeconds: %d\nreadiness:\n  path: /ready\n  initialDelaySeconds: %d\n", 5+g.IntN(30), g.IntN(60))
		},
		"RESOURCES": func() string {
			return fmt.Sprintf("requests:\n  cpu: %dm\n  memory: %dMi\nlimits:\n  memory: %dMi\n", 50*(1+g.IntN(20)), 64*(1+g.IntN(16)), 1024*(1+g.IntN(4)))
		},
		"SYNC": func() string {
			return fmt.Sprintf("{\"intervalSeconds\": %d, \"windows\": [%q]}", 30+g.IntN(600), g.window())
		},
	}
}

func (g *generator) routes() string {
	var b strings.Builder
	for _, name := range []string{"shop", "admin", "reports", "health"} {
		fmt.Fprintf(&b, "  - name: %s\n    path: /%s\n    timeoutSeconds: %d\n    retries: %d\n", name, name, 1+g.IntN(60), g.IntN(5))
	}
	return b.String()
}

func (g *generator) window() string {
	return fmt.Sprintf("%02d:%02d-%02d:%02d", g.IntN(12), g.IntN(60), 12+g.IntN(12), g.IntN(60))
}

// lists append, but items of the same name merge.
func (g *generator) lists() map[string]func() string {
	return map[string]func() string{
		"ALERTS": func() string {
			return fmt.Sprintf("- name: %s\n  severity: %s\n  threshold: %d\n  for: 10m\n  summary: Too many requests were refused or slow\n  labels:\n    channel: alerts-%02d\n    runbook: https://runbooks.acme.example/shop\n",
				g.pick("errors", "latency", "saturation"), g.pick("page", "ticket"), g.IntN(100), g.IntN(100))
		},
		"ALLOWED_ORIGINS": func() string { return fmt.Sprintf("- https://shop-%02d.acme.example\n", g.IntN(100)) },
		"LANGUAGES":       func() string { return "[de, en, fr, it]" },
		"SIDECARS": func() string {
			return fmt.Sprintf("- name: %s\n  image: registry.acme.example/sidecars:%d.%d\n  port: %d\n  resources:\n    cpu: 50m\n    memory: 64Mi\n", g.pick("proxy", "metrics"), g.IntN(5), g.IntN(20), 9000+g.IntN(100))
		},
		"TOLERATIONS": func() string { return "- key: dedicated\n  operator: Equal\n  value: shop\n  effect: NoSchedule\n" },
	}
}

func (g *generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
