package restore

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// Name of the operator: of its controller, its events and its leader election.
const Name = "restore-operator"

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
	}
}

// Save saves the old cluster, and returns the snapshot's path and manifest.
type Save func(ctx context.Context, order state.SafetyOrder, secrets SafetySecrets) (path string, m snapshot.Manifest, err error)

// Dial opens a client of one member. A nil Dial is etcd.Open.
type Dial func(endpoint etcd.Endpoint, tlsConfig *tls.Config) (*etcd.Client, error)

// Sign signs a URL to read a source, and proves that the URL can read it.
type Sign func(ctx context.Context, src v1beta2.RestoreSource, by source.By) (objstore.SignedURL, error)
