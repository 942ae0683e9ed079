# make demo and make test need a Debian machine with root, Go, make and git. They install everything else.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# All builds use the same flags, so that builds, tests and images share the build cache.
export GOFLAGS     := -trimpath -buildvcs=false
export CGO_ENABLED := 0
# To use your own cluster instead of the local one: make e2e KUBECONFIG=... [CONTEXT=...]
KUBECONFIG ?=
CONTEXT    ?=
export KUBECONFIG CONTEXT
# The directory into which the tests of killer and e2e record their faults; make record-faults sets it.
override RECORD_FAULTS := $(abspath $(RECORD_FAULTS))
export RECORD_FAULTS
# Your S3 server for make conformance. Its credentials are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
export S3_ENDPOINT S3_REGION S3_CA S3_ENCRYPTION S3_KMS_KEY

VERSION    ?= $(shell sed -n 's/^appVersion: *"\{0,1\}\([^"]*\)"\{0,1\}$$/\1/p' charts/etcd-operator/Chart.yaml)
LOCALKUBE  := go run ./test/localkube
TEST_BIN    = $(shell $(LOCALKUBE) bin)
CONTROLLER_GEN := go tool -modfile=hack/tools/controller-gen.mod controller-gen
GOLANGCI_LINT  := go tool -modfile=hack/tools/golangci-lint.mod golangci-lint
CRD_REF_DOCS   := go tool -modfile=hack/tools/crd-ref-docs.mod crd-ref-docs
CRDS       := charts/etcd-operator/files/crds
DASHBOARDS := charts/etcd-operator/files/dashboards
GENERATED  := api $(CRDS) $(DASHBOARDS) docs/api.md docs/reference.md

# Modules of their own, so that the operators depend on none of their libraries.
MODULES    := hack/dashboards hack/plot hack/release hack/structure test/controlplanes test/gitops test/oldest

# Programs that the tests run against. Each is built once and kept in the user's cache.
INTEGRATION_PROGRAMS := kubernetes etcd-3.4 etcd-3.5 etcd-3.6 etcd-3.7 versitygw fake-gcs azurite helm
CHART_PROGRAMS       := kubernetes etcd-3.6 helm
E2E_PROGRAMS         := kubernetes etcd-3.4 etcd-3.5 etcd-3.6 etcd-3.7 containerd cni coredns directories helm versitygw fake-gcs cert-manager
DEMO_PROGRAMS        := kubernetes etcd-3.6 containerd cni coredns directories helm versitygw
BENCH_PROGRAMS       := $(DEMO_PROGRAMS) etcd-3.5 local-path
UPGRADE_PROGRAMS     := $(DEMO_PROGRAMS) etcd-3.5 etcd-3.7

##@ Try it

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*##/ {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: deps ## Start a local Kubernetes, install the suite, back up and restore a cluster, and print each step
	@go run ./test/demo

.PHONY: cluster-up
cluster-up: deps ## Start the local Kubernetes if it is not running; NODES=3
	@$(LOCALKUBE) up --nodes $(or $(NODES),3)

.PHONY: cluster-down
cluster-down: ## Delete the local Kubernetes and its data, but keep the built programs
	@$(LOCALKUBE) down

##@ Build

.PHONY: build
build: ## Build the three operators and the plugin of kubectl into bin/
	go build -ldflags '-s -w -X github.com/etcd-suite/etcd-operator/internal/operator.Version=$(VERSION)' -o bin/ ./cmd/...

.PHONY: docs
docs: ## Make a website of the manual in dist/site with VitePress, and check its links; SITE_BASE=/etcd-operator/ if it is served below a path
	@hack/deps.sh node
	hack/site/build.sh

.PHONY: images
images: ## Build the three operators' images as OCI archives into dist/images; ARCH=amd64,arm64
	go run ./hack/images --out dist/images --arch $(or $(ARCH),amd64,arm64) --version $(VERSION) cluster-operator backup-operator restore-operator

.PHONY: release
release: ## Build all files of a release into dist/release; TAG=v1.2.3 requires that chart and changelog have this version; PLATFORMS=linux/amd64 limits kubectl etcd
	@$(LOCALKUBE) build helm
	cd hack/release && go run . build --helm "$(TEST_BIN)/helm" --tag "$(TAG)" $(if $(PLATFORMS),--plugin-platforms "$(PLATFORMS)")

.PHONY: push
push: ## Push the images and the chart of dist/release; REGISTRY=ghcr.io/your-name, with the credentials of docker login
	@$(LOCALKUBE) build helm
	cd hack/release && go run . push --helm "$(TEST_BIN)/helm" --registry "$(REGISTRY)"

.PHONY: release-twice
release-twice: deps ## Build the release twice, the second time without caches, and compare the checksums
	@hack/release-twice.sh

.PHONY: generate
generate: ## Regenerate deep copies, CRDs, dashboards, docs/api.md and docs/reference.md
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=$(CRDS)
	# Those of the archived operator preserve unknown fields, and without this line a patch leaves that as it is.
	sed -i 's/^  scope: Namespaced$$/  preserveUnknownFields: false\n&/' $(CRDS)/*.yaml
	go run ./hack/crds $(CRDS)/*.yaml
	$(CRD_REF_DOCS) --log-level ERROR --source-path api --config hack/api-docs/config.yaml \
		--renderer markdown --templates-dir hack/api-docs/templates --output-path docs/api.md
	go run ./hack/reference . docs/reference.md
	cd hack/dashboards && go run . ../../$(DASHBOARDS)

##@ Test

# The sweeps of the integration tests kill an operator at each of its calls, or break each request to a store. make test tries
# one in SWEEP_ONE_IN of these points, and prints the SWEEP_SEED that repeats the choice. make long and make killer try all.
SWEEP_ONE_IN ?= 5
export SWEEP_ONE_IN SWEEP_SEED

.PHONY: test
test: unit integration chart e2e ## Run every test, with a random part of each sweep

.PHONY: long
long: ## Run what make test leaves out: all points of each sweep, end-to-end tests that take long, campaigns, and a million steps of the planner
	$(MAKE) simulate
	$(MAKE) integration SWEEP_ONE_IN=1
	$(MAKE) campaign campaign-promotions
	$(MAKE) e2e-long
	$(MAKE) e2e-region

# SIMULATIONS are the tests of the planner that take a second or more without the race detector. One that is not among them makes unit pass its timeout, which names it.
SIMULATIONS = Settles$$|BreakNothing$$|NobodyIs$$|SaysWhatToDo$$|OfYears$$|DoesNotTrust$$|ChangeAMinute$$|ThatMayRun$$|Interleaving|CA$$|ARotation$$|OfCertManager$$|IssuerChanges$$|ForEver$$|OthersSign$$|TakenBack$$|OnlyCopy|AsTheyAre$$|ExpiredOne$$|Expired$$|InTime$$|LeftAlone$$|TheRecovery$$|IsReplaced$$|AreRare$$|LessOften$$|AllReplaced$$|RunLonger$$|IsCreated$$|FromTheSpec$$|IsKept$$

# A module of its own reads files of the whole repository. Go does not see that these have changed, and would print an old result.
ALWAYS := -count=1

.PHONY: unit
unit: deps ## Run the unit tests with the race detector, in random order, after the tests of how the code is divided
	cd hack/structure && go test $(ALWAYS) -shuffle=on ./...
	CGO_ENABLED=1 go test -race -shuffle=on -timeout 30m ./api/... ./cmd/... $$(go list ./internal/... | grep -v cluster/plan$$) ./hack/... ./test/localkube/... ./test/readme/ ./test/faults/
	# With the race detector, the simulations of the planner take ten times as long, and they have no goroutines.
	go test -short -shuffle=on -timeout 30m ./internal/cluster/plan/
	CGO_ENABLED=1 go test -race -short -shuffle=on -timeout 10m -skip '$(SIMULATIONS)' ./internal/cluster/plan/
	go test -run TestEach ./test/upgrade/

.PHONY: simulate
simulate: ## Run a million steps of the planner in random worlds, which make unit does with few; SIM_SEED=n repeats a failed run, and SIM_WORLD=n only its world n of each kind
	SIM_SEED=$(or $(SIM_SEED),random) go test -count=1 -v -timeout 30m -run TestRandomFaults ./internal/cluster/plan

.PHONY: structure
structure: ## Print how the files of each package use each other: arrows, arrows up, the largest circle, the type with most methods
	cd hack/structure && go run . ../.. ./internal/... ./cmd/... ./api/...

.PHONY: mutants
mutants: ## Change the planners in one place after the other, and show which changes no test finds; MUTANTS=200 SEED=1 ONLY=3,17 FAST=true leaves the simulations out
	go run ./hack/mutants -n $(or $(MUTANTS),200) -seed $(or $(SEED),1) -only="$(ONLY)" -fast=$(or $(FAST),false)

.PHONY: explore
explore: ## Explore all interleavings of passes, effects, changes, faults, old reads and kills, of which make unit does a short form; EXPLORE=4m for each of 18 explorations, EXPLORE_SIZE=1 EXPLORE_OPERATION=restore EXPLORE_DISTURBANCES=3
	go test -count=1 -v -timeout 0 -run Interleaving ./internal/cluster/plan -explore=$(or $(EXPLORE),4m) \
		-explore.size=$(or $(EXPLORE_SIZE),0) -explore.operation="$(EXPLORE_OPERATION)" -explore.disturbances=$(or $(EXPLORE_DISTURBANCES),3)

.PHONY: integration
integration: deps ## Run the tests against a real kube-apiserver, real etcd, a real S3 server, and emulators of GCS and Azure
	@hack/deps.sh node
	@$(LOCALKUBE) build $(INTEGRATION_PROGRAMS)
	# The detector of client-go ends a test in which somebody changes an object of a cache.
	KUBE_CACHE_MUTATION_DETECTOR=true TEST_BIN="$(TEST_BIN)" go test -shuffle=on -parallel 4 -timeout 40m $$(go list ./test/integration/... | grep -v /scale) ./test/conformance/
	TEST_BIN="$(TEST_BIN)" go test -shuffle=on -timeout 20m ./test/integration/scale/

.PHONY: killer
killer: SWEEP_ONE_IN := 1
killer: deps ## Kill the operators at every call, and the members, and check that no data is lost; make integration kills at some calls
	@$(LOCALKUBE) build kubernetes etcd-3.5 etcd-3.6 etcd-3.7 versitygw
	TEST_BIN="$(TEST_BIN)" go test -count=1 -v -timeout 40m ./test/integration/killer/

.PHONY: record
record: deps ## Record the metrics of a cluster in a real run, which test/alerts replays through the alerts and the dashboards
	@$(LOCALKUBE) build kubernetes etcd-3.5 etcd-3.6
	TEST_BIN="$(TEST_BIN)" go test -tags record -count=1 -v -timeout 20m -run TestRecordMetrics ./test/integration/killer/ -killer.record=$(CURDIR)/test/alerts/testdata/recording.gz

.PHONY: record-faults
record-faults: ## Record the faults that tests cause, and write what kubectl etcd status shows of them into docs/kubectl-etcd.md; RECORD_FROM=killer needs no nodes
	$(MAKE) $(or $(RECORD_FROM),killer e2e e2e-long) RECORD_FAULTS=test/faults/testdata
	go test -count=1 ./test/faults/ -update

.PHONY: pictures
pictures: ## Draw the dashboards with the recorded metrics, and the table of docs/performance.md, into docs/images
	cd test/alerts && go test -count=1 -run TestEachPanelShowsARealRun . -pictures
	cd hack/plot && go run . ../../docs/performance.md ../../docs/images/scale.svg

.PHONY: campaign
campaign: deps ## Kill backup-operator at random while it archives etcd 3.5, 3.6 and 3.7, and compare what is restored; CAMPAIGN_ROUNDS=3 CAMPAIGN_SECONDS=60 CAMPAIGN_SEED=n repeats the choices of a round
	@$(LOCALKUBE) build kubernetes etcd-3.5 etcd-3.6 etcd-3.7 versitygw
	TEST_BIN="$(TEST_BIN)" go test -count=1 -v -timeout 120m -run TestKilledReplicas ./test/integration/archive/ -archive.minors=3.5,3.6,3.7 -archive.patient \
		-archive.rounds=$(or $(CAMPAIGN_ROUNDS),3) -archive.campaign=$(or $(CAMPAIGN_SECONDS),60)s -archive.seed=$(or $(CAMPAIGN_SEED),0)

.PHONY: campaign-promotions
campaign-promotions: deps ## Promote standbys of etcd 3.5, 3.6 and 3.7 while backup-operator, the standby and the store fail at random, and compare each with its source; PROMOTIONS=50
	@$(LOCALKUBE) build kubernetes etcd-3.5 etcd-3.6 etcd-3.7 versitygw
	TEST_BIN="$(TEST_BIN)" go test -count=1 -v -timeout 120m -run TestAPlannedPromotionHas ./test/integration/archive/ -archive.minors=3.5,3.6,3.7 \
		-archive.promotions=$(or $(PROMOTIONS),50) -archive.seed=$(or $(CAMPAIGN_SEED),0)

.PHONY: conformance
conformance: deps ## Check that your S3 server supports what snapshots need: S3_ENDPOINT=https://... S3_REGION= S3_CA=ca.crt S3_ENCRYPTION="SSE-S3 SSE-C"
	@$(if $(S3_ENDPOINT),,$(LOCALKUBE) build versitygw)
	TEST_BIN="$(TEST_BIN)" go test -count=1 -v -timeout 30m ./test/conformance/

.PHONY: chart
chart: ## Run the tests of the chart (also against the oldest Kubernetes), rendered by Helm, of what a release is made of, of alerts and dashboards, of the health that Argo CD shows, and of the manifests for control planes
	@$(LOCALKUBE) build $(CHART_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" go test -shuffle=on ./test/chart/...
	cd hack/release && TEST_BIN="$(TEST_BIN)" go test $(ALWAYS) -shuffle=on ./...
	cd test/oldest && TEST_BIN="$(TEST_BIN)" go test $(ALWAYS) -shuffle=on ./...
	cd test/alerts && go test $(ALWAYS) -shuffle=on ./...
	cd hack/dashboards && go test $(ALWAYS) -shuffle=on ./...
	cd hack/plot && go test $(ALWAYS) -shuffle=on ./...
	cd test/controlplanes && go test $(ALWAYS) -shuffle=on ./...
	cd test/gitops && go test $(ALWAYS) -shuffle=on ./...

.PHONY: site-test
site-test: ## Build the website of the manual, and read it in Chromium: widths of phones and screens, links, search, dark mode; CHROMIUM=/path/of/another
	@hack/deps.sh node chromium
	hack/site/build.sh
	cd hack/site && node --test browser.test.mjs

.PHONY: e2e
e2e: deps ## Run the tests of the installed suite on a real Kubernetes (local, or from KUBECONFIG)
	@$(LOCALKUBE) build $(E2E_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" go test -v -timeout 40m -parallel 4 -skip '^TestLong' ./test/e2e/...

.PHONY: e2e-long
e2e-long: deps ## Run the tests of the installed suite that take long, such as faults that last for ten minutes
	@$(LOCALKUBE) build $(E2E_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" go test -v -timeout 60m -run '^TestLong' ./test/e2e/...

.PHONY: e2e-upgrade
e2e-upgrade: deps ## Upgrade the suite from an earlier commit, roll it back and upgrade it again, with objects in each state that lasts; FROM=c11df20. It deletes a running local Kubernetes
	@$(LOCALKUBE) build $(UPGRADE_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" UPGRADE_FROM="$(or $(FROM),c11df20)" go test -count=1 -v -timeout 60m -parallel 20 ./test/upgrade/

.PHONY: e2e-region
e2e-region: deps ## Move clients to a standby with operators of its own, and lose the nodes of a source at once. It deletes a running local Kubernetes
	@$(LOCALKUBE) build $(DEMO_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" go test -count=1 -v -timeout 30m ./test/region/

.PHONY: readme
readme: deps ## Run the commands of README.md and docs/install.md on a fresh local Kubernetes. It deletes a running one, unless README_RUNNING=1
	@$(LOCALKUBE) build $(DEMO_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" README_RUNNING="$(README_RUNNING)" README_SESSION="$(README_SESSION)" go test -count=1 -v -timeout 30m -run Documentation ./test/readme/run/

.PHONY: session
session: ## Run the commands of the README, and draw the terminal session into docs/images
	@session=$$(mktemp) && trap 'rm -f "$$session"' EXIT && $(MAKE) readme README_SESSION="$$session" \
		&& go tool -modfile=hack/tools/freeze.mod freeze --language ansi --config hack/tools/freeze.json --output docs/images/session.svg "$$session"

.PHONY: tutorials
tutorials: deps ## Follow the tutorials of docs on a fresh local Kubernetes. It deletes a running one; TUTORIALS=tls,minio follows only these
	@$(LOCALKUBE) build $(DEMO_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" TUTORIALS="$(or $(TUTORIALS),1)" go test -count=1 -v -timeout 60m -run Tutorial ./test/readme/run/

.PHONY: disasters
disasters: deps ## Cause each disaster of docs/disaster-recovery.md on a fresh local Kubernetes, and run the commands of the page. It deletes a running one; DISASTERS=node,region causes only these
	@$(LOCALKUBE) build $(DEMO_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" DISASTERS="$(or $(DISASTERS),1)" go test -count=1 -v -timeout 60m -run Disaster ./test/readme/run/

.PHONY: bench-seed
bench-seed: deps ## Measure the seed of a restore and compare it with a download and etcdutl; BENCH_MIB=1024
	@$(LOCALKUBE) build etcd-3.6 versitygw
	TEST_BIN="$(TEST_BIN)" go test -run '^$$' -bench Seed -benchtime 1x -timeout 30m ./test/bench/seed/

.PHONY: bench-archive
bench-archive: deps ## Measure what a continuous archive costs etcd, the operator, the store and a restore; BENCH_ROUNDS=4 BENCH_SECONDS=8 BENCH_RATE=1000 BENCH_N=100 BENCH_MIB=1024 BENCH_REVISIONS=1000000
	@$(LOCALKUBE) build etcd-3.6 versitygw
	TEST_BIN="$(TEST_BIN)" go test -run '^$$' -bench Archive -benchtime 1x -timeout 60m ./test/bench/archive/

.PHONY: bench-follow
bench-follow: deps ## Measure a standby, and compare it with a mirror and the restore of a snapshot; BENCH_MIB=64 BENCH_REVISIONS=100000 BENCH_SECONDS=20 BENCH_RATE=1000
	@$(LOCALKUBE) build etcd-3.6 versitygw
	TEST_BIN="$(TEST_BIN)" go test -run '^$$' -bench Follow -benchtime 1x -v -timeout 60m ./test/bench/archive/

.PHONY: bench-move
bench-move: deps ## Measure how long clients cannot write while an etcd is moved to another namespace, on a quiet machine (local Kubernetes, or from KUBECONFIG); BENCH_ROUNDS=5 BENCH_GAP=5s
	@$(LOCALKUBE) build $(E2E_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" E2E_MOVE_GAP=$(or $(BENCH_GAP),5s) go test -count=$(or $(BENCH_ROUNDS),5) -v -timeout 40m -parallel 1 -run TestAStatefulSetIsMoved ./test/e2e/

.PHONY: bench-backups
bench-backups: deps ## Measure backup-operator with many EtcdBackups that are due in the same minute; BENCH_N=1000
	@$(LOCALKUBE) build kubernetes etcd-3.6 versitygw
	TEST_BIN="$(TEST_BIN)" go test -run '^$$' -bench Backups -benchtime 1x -timeout 60m ./test/bench/backups/

.PHONY: bench-save
bench-save: deps ## Measure time and memory of a save and compare it with etcdctl and a plain upload; BENCH_MIB=1024 BENCH_VALUE=16384 BENCH_ROUNDS=3
	@$(LOCALKUBE) build etcd-3.6 versitygw
	TEST_BIN="$(TEST_BIN)" go test -run '^$$' -bench '^BenchmarkSave$$' -benchtime 1x -timeout 60m ./test/bench/

.PHONY: bench-slow-save
bench-slow-save: deps ## Measure a save on a slow disk (root, cgroup v1); BENCH_MIB=4096 BENCH_RATE=32 BENCH_MEMORY=1024
	@$(LOCALKUBE) build etcd-3.6 versitygw
	TEST_BIN="$(TEST_BIN)" go test -run '^$$' -bench SlowSave -benchtime 1x -timeout 60m ./test/bench/

.PHONY: bench-ready
bench-ready: deps ## Measure the time until clusters are ready, grow, heal and are restored, and compare it with StatefulSets (local Kubernetes, or from KUBECONFIG); BENCH=Restore BENCH_ROUNDS=5 BENCH_RESTORES=10 BENCH_TLS=1 BENCH_MIB=64
	@$(LOCALKUBE) build $(BENCH_PROGRAMS)
	TEST_BIN="$(TEST_BIN)" go test -run '^$$' -bench '$(or $(BENCH),Ready)' -benchtime 1x -v -timeout 120m ./test/bench/ready/

.PHONY: bench-scale
bench-scale: deps ## Measure cluster-operator with many clusters, faked members and a real kube-apiserver; BENCH_N=100 BENCH_TLS=1 BENCH_PHASES=idle,restart BENCH_FORCE=1 (on a busy machine)
	@$(LOCALKUBE) build kubernetes etcd-3.6
	TEST_BIN="$(TEST_BIN)" go test -run '^$$' -bench Scale -benchtime 1x -v -timeout 90m ./test/bench/scale/

.PHONY: bench-startup
bench-startup: deps ## Measure the start of a member with a large database on a slow disk (root, cgroup v1); BENCH_MIB=4096 BENCH_RATE=32
	@$(LOCALKUBE) build etcd-3.6
	TEST_BIN="$(TEST_BIN)" go test -run '^$$' -bench Startup -benchtime 1x -timeout 60m ./test/bench/startup/

.PHONY: bench
bench: bench-ready bench-seed bench-save bench-slow-save bench-startup bench-scale bench-backups bench-archive bench-follow bench-move ## Run all benchmarks (two hours or more, on a quiet machine)

##@ Check

.PHONY: lint
lint: prose ## Run the linters, of code and of prose
	$(GOLANGCI_LINT) run ./...
	for module in $(MODULES) test/alerts; do \
		(cd $$module && go tool -modfile=../../hack/tools/golangci-lint.mod golangci-lint run --config ../../.golangci.yml ./...); done

.PHONY: prose
prose: deps ## Check texts against plain English; PROSE="docs chart api messages" names parts, PROSE_LEVEL=suggestion shows hints
	@go run ./hack/prose -level $(or $(PROSE_LEVEL),error) $(PROSE)

.PHONY: verify
verify: generate vulncheck lint ## Fail if generated files or go.mod are out of date, a linter or gosec finds something, or a program calls code with a known vulnerability
	go mod tidy
	for module in $(MODULES); do (cd $$module && go mod tidy); done
	@git diff --exit-code -- $(GENERATED) go.mod go.sum $(MODULES) || { echo "generated files or go.mod are out of date: run make generate and go mod tidy, and commit the result"; exit 1; }
	@test -z "$$(git ls-files --others --exclude-standard -- $(GENERATED))" || { echo "generated files are not committed: add them to the commit"; exit 1; }
	@! go list -deps ./cmd/cluster-operator | grep -E 'aws-sdk-go|cloud.google.com/go/storage|Azure/azure-sdk-for-go|go.etcd.io/etcd/etcdutl' || { echo "cluster-operator must not link an object store SDK or etcdutl: remove the import"; exit 1; }

# The database of vulnerabilities is a Go module, so the check needs the module proxy only, and its answer changes only by a
# commit: go get -modfile=hack/tools/govulncheck.mod golang.org/x/vulndb/cmd/indexdb@latest. The standard library that is checked
# is that of the toolchain in go.mod, with which releases are built.
GOVULNCHECK := -modfile=hack/tools/govulncheck.mod
TOOLCHAIN    = $(shell sed -n 's/^toolchain //p' go.mod)

.PHONY: vulncheck
vulncheck: deps ## Fail if a program calls code with a known vulnerability; VULNDB=https://vuln.go.dev asks for those of today
	@# A download that stalls is begun again.
	@for attempt in 1 2 3; do timeout 180 go mod download $(GOVULNCHECK) golang.org/x/vulndb && GOTOOLCHAIN=$(TOOLCHAIN) timeout 180 go version >/dev/null && break; done
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT \
		&& go tool $(GOVULNCHECK) indexdb -out "$$dir/db" -vulns "$$(go list $(GOVULNCHECK) -m -f '{{.Dir}}' golang.org/x/vulndb)/data/osv" \
		&& go build $(GOVULNCHECK) -o "$$dir" golang.org/x/vuln/cmd/govulncheck \
		&& GOTOOLCHAIN=$(TOOLCHAIN) "$$dir/govulncheck" -db "$(or $(VULNDB),file://$$dir/db)" ./cmd/...

.PHONY: deps
deps: ## Install missing system packages (needs Debian and root) and download the Go modules
	@hack/deps.sh
	@go run ./hack/modules
