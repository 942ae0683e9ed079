package cluster

import (
	"time"

	"k8s.io/client-go/tools/events"

	"github.com/etcd-suite/etcd-operator/internal/cluster/act"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/metrics"
	"github.com/etcd-suite/etcd-operator/internal/cluster/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/secrets"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// Reconciler brings EtcdClusters to what their specs ask, one step in each pass.
type Reconciler struct {
	*view.KubeAPI
	Events     events.EventRecorder
	Now        func() time.Time
	metrics    *metrics.Metrics
	brake      *queue.Brake
	paces      *view.Memory[queue.Pace]
	secrets    *secrets.Secrets
	questions  *members.Questions
	rehearsals *dryrun.Rehearsals
	times      *dryrun.Times
	observer   *observe.Observer
	actor      *act.Actor
	// health is checked between full looks. If it is nil, all looks are full.
	health *members.HealthChecks
	memory view.Memory[remembered]
}
