# The workshop. `make` alone lists the targets.

GO       ?= go
FUZZTIME ?= 10s
BENCH    ?= .
SIZES    ?= 1k,10k,100k,112500
PUBLISH  ?= 100k

# Tools are pinned in a module of their own, so that none of them decides a version in go.mod.
TOOL := $(GO) tool -modfile=tools/go.mod

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ./kalypso
	CGO_ENABLED=0 $(GO) build -trimpath -o kalypso ./cmd/kalypso

.PHONY: demo
demo: build ## compile the sample fleet and show the result
	@hack/demo.sh

.PHONY: test
test: ## run all tests
	@GO='$(GO)' hack/test.sh ./...

.PHONY: golden
golden: ## rewrite golden files and generated docs, then show what changed
	@hack/golden.sh

.PHONY: docs
docs: ## rewrite the generated parts of the docs, then show what changed
	@hack/golden.sh docs

.PHONY: lint
lint: ## check style, imports and workflows
	$(TOOL) golangci-lint run
	@hack/workflows.sh

.PHONY: fmt
fmt: ## format all Go files
	$(TOOL) golangci-lint fmt

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@hack/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## compile large fleets of SIZES (1k,10k,100k,112500), beside tar
	$(GO) test -run '^$$' -bench Compile -benchmem ./cmd/kalypso
	$(GO) run ./hack/bench -sizes '$(SIZES)'

.PHONY: bench-publish
bench-publish: ## publish a large output to a git server on loopback, beside git itself (minutes)
	$(GO) run ./hack/bench -publish -sizes '$(PUBLISH)'

.PHONY: microbench
microbench: ## run the benchmarks that match BENCH (all)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: browser
browser: ## try what kalypso report makes in a headless Chromium
	@hack/browser.sh

.PHONY: e2e
e2e: build ## deploy a fleet to real API servers with Flux, in build/e2e (Linux, root; the first time 20 minutes more)
	@hack/e2e/run.sh

.PHONY: release-check
release-check: ## check .goreleaser.yaml
	$(GO) tool -modfile=tools/release/go.mod goreleaser check

.PHONY: snapshot
snapshot: ## make a release without publishing it, twice, and try it (minutes)
	@hack/snapshot.sh

.PHONY: vuln
vuln: ## look for known vulnerabilities (needs the network)
	$(TOOL) govulncheck ./...

.PHONY: ci
ci: ## what every change must pass (minutes)
	@.ci/run

.PHONY: ci-full
ci-full: ## ci and all that takes longer or needs more than Go
	@.ci/full

.PHONY: clean
clean: ## remove what make made
	rm -rf kalypso kalypso.exe build dist coverage.out
