package backup

import (
	"context"
	"time"

	kubeevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/backup/archiving"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

const (
	// concurrency is how many EtcdBackups are reconciled at the same time. A pass waits for the API server only. With one, the passes are
	// slower than the snapshots if many are due at once, and the order of the passes decides instead of the turns of the namespaces.
	concurrency = 8
	// passTimeout limits one pass, so that an API server which does not answer keeps no place of the queue.
	passTimeout = 30 * time.Second
	// finalizer that coreos/etcd-operator adds to periodic backups.
	finalizer = "backup-operator-periodic"
)

// attemptFunc runs one attempt. It runs in a worker, until it is done or its context ends.
type attemptFunc func(context.Context, state.JobSpec, *queue.Progress) state.Result

// Reconciler does one step for an EtcdBackup in each pass.
type Reconciler struct {
	client client.Client
	// live reads from the API server, and not from the cache.
	live     client.Reader
	events   kubeevents.EventRecorder
	attempts *queue.Attempts
	// copies are the attempts to copy to the second location.
	copies *queue.Attempts
	// archives are the archivers of the clusters.
	archives *archiving.Archives
	attempt  attemptFunc
	metrics  *metrics
	// deletions is when this process saw first that an EtcdBackup is being deleted.
	deletions sightings
	// identity says which namespaces may use the operator's own identity, and below which paths.
	identity grant.List
	limits   queue.Limits
	// jitter is the longest time by which snapshots of the same schedule are spread.
	jitter time.Duration
	server *clock.Server
	now    func() time.Time
}

func keyOf(object client.Object) worker.Key {
	return worker.Key{Object: client.ObjectKeyFromObject(object), UID: object.GetUID()}
}
