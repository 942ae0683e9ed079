package restore

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
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
	"github.com/etcd-suite/etcd-operator/internal/turns"
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
	client   client.Client
	events   events.EventRecorder
	read     Prove
	save     Save
	sign     Sign
	identity grant.List
	renewals *worker.Pool[state.Renewal]
	proofs   *worker.Pool[state.Proof]
	safeties *worker.Pool[state.Safety]
	writings *worker.Pool[state.Writing]
	readings readings
	turns    turns.Limits
	begun    begun
	metrics  *metrics
	server   *clock.Server
	now      func() time.Time
	any      bool // Options.AnyMember
}

// get reads an object and returns false if it does not exist.
func (r *Reconciler) get(ctx context.Context, name types.NamespacedName, object client.Object) (found bool, err error) {
	err = r.client.Get(ctx, name, object)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %T %s: %w", object, name, err)
	}
	return true, nil
}

// safetiesOfOne is how many safety snapshots of one namespace are taken at the same time.
const safetiesOfOne = 2

// safetyWorkers returns how many safety snapshots are taken at the same time. They are twice as many as the readings, because a restore continues
// without a safety snapshot that has waited for too long. Two namespaces cannot hold all of these workers.
func safetyWorkers(readings int) int { return max(2*readings, 2*safetiesOfOne+1) }

// Save saves the old cluster, and returns the snapshot's path and manifest.
type Save func(ctx context.Context, order state.SafetyOrder, secrets SafetySecrets) (path string, m snapshot.Manifest, err error)

// Dial opens a client of one member. A nil Dial is etcd.Open.
type Dial func(endpoint etcd.Endpoint, tlsConfig *tls.Config) (*etcd.Client, error)

// Sign signs a URL to read a source, and proves that the URL can read it.
type Sign func(ctx context.Context, src v1beta2.RestoreSource, by source.By) (objstore.SignedURL, error)

// begun lets a reading begin only when the status has recorded that it begins. If the snapshot ends this process, the next one finds the
// attempt in the status, and pauses before the next attempt. Only the worker waits, and no pass.
type begun struct {
	mu       sync.Mutex
	expected map[worker.Key]chan struct{}
}
