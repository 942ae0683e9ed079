// Package restore is restore-operator, which owns EtcdRestores.
//
// In one pass, observe reads Kubernetes and the result of the running reading into a plan.State, plan.Plan picks one Step,
// act does the one effect of that Step, and plan.NewStatus computes the status. The package plan is pure.
//
// restore-operator reads the snapshot once, completely, and verifies it. It changes no cluster. cluster-operator sees the
// verified snapshot in the status, restores it, and reports its progress in the status of the EtcdCluster. This controller
// copies that report, and reports Complete only after the cluster does.
package restore

import (
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// Options of the controller.
type Options struct {
	// Prove reads a source.
	Prove Prove
	// Save saves the data that a restore replaces.
	Save Save
	// Sign signs a URL for the seed, if the operator's own identity has read the source. If it is nil, the seed reads as the
	// ServiceAccount of the members.
	Sign Sign
	// OwnIdentity says which namespaces may use the operator's own identity at a store, and below which paths.
	OwnIdentity grant.List
	// MaxProofs is how many sources are read at the same time.
	MaxProofs int
	// Server is the clock of the API server, if its answers are read.
	Server *clock.Server
	// AnyMember permits to write to members whose host is not below the Service of their cluster. Only tests set it.
	AnyMember bool
	// Metrics is where the controller's metrics are registered.
	Metrics prometheus.Registerer
}

// Flags are those of the program, besides those that all operators have.
type Flags struct {
	SpoolDir     string
	Spool        SpoolFlags
	MaxProofs    int
	ReplayMemory resource.QuantityValue
	SignedURLs   bool
	OwnIdentity  grant.List
	// RequireSecretEndpoint is as in backup.Options.
	RequireSecretEndpoint bool
}

// AddFlags adds the flags with their defaults to flags.
func (f *Flags) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.SpoolDir, "spool-dir", os.TempDir(), "directory for snapshots during verification; it needs space for the largest snapshot and for the largest database")
	f.Spool.AddFlags(flags)
	flags.IntVar(&f.MaxProofs, "max-proofs", 3, "maximum number of concurrent verifications; one namespace gets at most one less; further snapshots wait")
	flags.Var(&f.ReplayMemory, "replay-memory",
		"memory of a replay, for example 1Gi; it needs about 80 MiB and 500 bytes for each key; 0 means no limit")
	flags.BoolVar(&f.SignedURLs, "signed-urls", true,
		"hand the seed a signed URL in a Secret if the operator's own identity reads the snapshot")
	flags.Var(&f.OwnIdentity, "own-identity",
		"JSON list of namespaces and path prefixes at which EtcdRestores may use the operator's own identity; if empty, each EtcdRestore needs a Secret")
	flags.BoolVar(&f.RequireSecretEndpoint, "require-secret-endpoint", false,
		"use the S3 and Azure keys of a Secret only for Amazon, Azure and the URLs in its key endpoint")
}

// Reconciler does one step for an EtcdRestore in each pass.
type Reconciler struct {
	*access
	events  events.EventRecorder
	reader  *reader
	writer  *keyWriter
	saver   *saver
	urls    *signedURLs
	metrics *metrics
	server  *clock.Server
	now     func() time.Time
	any     bool // Options.AnyMember
	// direct reads past the cache, which has no Pods and no volumes.
	direct client.Reader
	users  claimUsers
}

// newReconciler returns one whose workers do not run yet.
func newReconciler(c client.Client, recorder events.EventRecorder, counted *metrics, now func() time.Time, options Options) *Reconciler {
	may := &access{client: c, identity: options.OwnIdentity}
	urls := &signedURLs{access: may, sign: options.Sign, renewals: worker.New[state.Renewal](options.MaxProofs), now: now}
	sources := &reader{access: may, urls: urls, read: options.Prove, proofs: worker.New[state.Proof](options.MaxProofs), now: now}
	return &Reconciler{
		access: may, events: recorder, metrics: counted, server: options.Server, now: now, any: options.AnyMember,
		reader: sources,
		writer: &keyWriter{reader: sources, writings: worker.New[state.Writing](options.MaxProofs)},
		saver:  &saver{access: may, save: options.Save, safeties: worker.New[state.Safety](safetyWorkers(options.MaxProofs)), now: now},
		urls:   urls,
		direct: c,
	}
}
