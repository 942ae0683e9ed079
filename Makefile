# make demo and make test do all of their own set-up on a Debian machine with root, Go, make and git.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# One set of build flags for everything, so that builds, tests and images share the build cache.
export GOFLAGS     := -trimpath -buildvcs=false
export CGO_ENABLED := 0
# A cluster of yours, instead of the local one: make e2e KUBECONFIG=... [CONTEXT=...]
KUBECONFIG ?=
CONTEXT    ?=
export KUBECONFIG CONTEXT
# An S3 server of yours, for make conformance; its credentials are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
export S3_ENDPOINT S3_REGION S3_CA S3_ENCRYPTION S3_KMS_KEY

VERSION    ?= $(shell sed -n 's/^appVersion: *"\{0,1\}\([^"]*\)"\{0,1\}$$/\1/p' charts/etcd-operator/Chart.yaml)
LOCALKUBE  := go run ./test/localkube
TEST_BIN    = $(shell $(LOCALKUBE) bin)
CONTROLLER_GEN := go tool -modfile=hack/tools/controller-gen.mod controller-gen
GOLANGCI_LINT  := go tool -modfile=hack/tools/golangci-lint.mod golangci-lint
CRDS       := charts/etcd-operator/files/crds

# What the tests run against: each is built once and kept in the user's cache.
INTEGRATION_PROGRAMS := kubernetes etcd-3.5 etcd-3.6 etcd-3.7 versitygw fake-gcs azurite
CHART_PROGRAMS       := kubernetes etcd-3.6 helm
E2E_PROGRAMS         := kubernetes etcd-3.4 etcd-3.5 etcd-3.6 etcd-3.7 containerd cni coredns local-path helm versitygw fake-gcs cert-manager
DEMO_PROGRAMS        := kubernetes etcd-3.6 containerd cni coredns local-path helm versitygw

##@ See it work

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*##/ {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: deps ## Bring up Kubernetes, install the suite, save and restore a cluster, and say what happens
	@go run ./test/demo

.PHONY: cluster-up
cluster-up: deps ## Bring the local Kubernetes up (nothing to do if it is); NODES=3
	@$(LOCALKUBE) up --nodes $(or $(NODES),3)

.PHONY: cluster-down
cluster-down: ## Remove the local Kubernetes and all that it made, but not what was built
	@$(LOCALKUBE) down

##@ Build

.PHONY: build
build: ## Build the three operators into bin/
	go build -ldflags '-s -w -X github.com/etcd-suite/etcd-operator/internal/operator.Version=$(VERSION)' -o bin/ ./cmd/...

.PHONY: images
images: ## Build the three operators' images (amd64, arm64) as OCI archives into dist/images
	go run ./hack/images --out dist/images --arch amd64,arm64 --version $(VERSION) cluster-operator backup-operator restore-operator

.PHONY: generate
generate: ## Regenerate deep copies and CRDs from api/
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=$(CRDS)

##@ Test

.PHONY: test
test: unit integration chart e2e ## Run every test

.PHONY: unit
unit: deps ## Unit tests, with the race detector, in random order
	CGO_ENABLED=1 go test -race -shuffle=on ./api/... ./cmd/... ./internal/... ./hack/... ./test/localkube/...

.PHONY: simulate
simulate: ## A million steps of the planner in random worlds, others each time; SIM_SEED=n for those of a run that failed
	SIM_SEED=$(or $(SIM_SEED),random) go test -count=1 -v -run TestRandomFaults ./internal/cluster

.PHONY: integration
integration: deps ## Tests against a real kube-apiserver, real etcd, a real S3 server, and emulators of GCS and Azure
	@hack/deps.sh node
	@$(LOCALKUBE) build $(INTEGRATION_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" go test -shuffle=on -timeout 20m ./test/integration/... ./test/conformance/

.PHONY: conformance
conformance: deps ## Hold your S3 server to what snapshots rely on: S3_ENDPOINT=https://... S3_REGION= S3_CA=ca.crt S3_ENCRYPTION="SSE-S3 SSE-C"
	@$(if $(S3_ENDPOINT),,$(LOCALKUBE) build versitygw)
	TEST_BIN="$(TEST_BIN)" go test -count=1 -v -timeout 30m ./test/conformance/

.PHONY: chart
chart: ## Tests of the chart, rendered by real Helm
	@$(LOCALKUBE) build $(CHART_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" go test -shuffle=on ./test/chart/...

.PHONY: e2e
e2e: deps ## Tests of the installed suite on a real Kubernetes (the local one, or that of KUBECONFIG)
	@$(LOCALKUBE) build $(E2E_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" go test -v -timeout 40m ./test/e2e/...

.PHONY: bench-seed
bench-seed: deps ## Measure the seed of a restore against a download and etcdutl by hand (BENCH_MIB=1024)
	@$(LOCALKUBE) build etcd-3.6 versitygw
	TEST_BIN="$(TEST_BIN)" go test -run '^$$' -bench Seed -benchtime 1x -timeout 30m ./test/bench/seed/

.PHONY: bench-save
bench-save: deps ## What a save costs: time beside etcdctl and a plain upload, memory; BENCH_MIB=1024 BENCH_VALUE=16384 BENCH_ROUNDS=3
	@$(LOCALKUBE) build etcd-3.6 versitygw
	TEST_BIN="$(TEST_BIN)" go test -run '^$$' -bench Save -benchtime 1x -timeout 60m ./test/bench/

.PHONY: bench-ready
bench-ready: deps ## Measure the time to a ready cluster against a bare StatefulSet (local Kubernetes, or that of KUBECONFIG); BENCH_ROUNDS=5
	@$(LOCALKUBE) build $(DEMO_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" go test -run '^$$' -bench Ready -benchtime 1x -v -timeout 40m ./test/bench/ready/

.PHONY: bench
bench: bench-ready bench-seed bench-save ## Measure what the suite costs, each against a floor of the same run

##@ Check

.PHONY: lint
lint: ## Run the linters
	$(GOLANGCI_LINT) run ./...

.PHONY: verify
verify: generate ## Fail if generated files or go.mod are not what they should be
	go mod tidy
	@git diff --exit-code -- api $(CRDS) go.mod go.sum || { echo "generated files differ: run make generate and commit"; exit 1; }
	@test -z "$$(git ls-files --others --exclude-standard -- api $(CRDS))" || { echo "generated files are not committed"; exit 1; }
	@! go list -deps ./cmd/cluster-operator | grep -E 'aws-sdk-go|cloud.google.com/go/storage|Azure/azure-sdk-for-go|go.etcd.io/etcd/etcdutl' || { echo "cluster-operator must link no object store and no etcdutl"; exit 1; }

.PHONY: deps
deps: ## Install what is missing of the system's packages (Debian, root)
	@hack/deps.sh
