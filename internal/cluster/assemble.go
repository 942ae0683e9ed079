package cluster

import (
	"context"
	"crypto/x509"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/act"
	"github.com/etcd-suite/etcd-operator/internal/cluster/confirm"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/metrics"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/secrets"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// parts are what a Reconciler is assembled of.
type parts struct {
	Client       client.Client
	APIReader    client.Reader
	Events       events.EventRecorder
	Dial         members.Dial
	Shown        func(ctx context.Context, address string) (*x509.Certificate, error)
	Applied      func(ctx context.Context, address string) (etcd.ID, uint64, error)
	Now          func() time.Time
	SeedProgress observe.SeedProgress
	SeedImage    string
	SeedEnv      map[string]string
	metrics      *metrics.Metrics
	// lists limits the passes that list objects of a tenant past the cache, and explaining those that read events; nil does not.
	lists, explaining  *turns.Gate
	rereads            *rate.Limiter
	wake               chan event.GenericEvent
	brake              *queue.Brake
	shard              string
	server             *clock.Server
	defects            []etcdversion.Defect
	issuers            []state.AllowedIssuer
	certificateDomains []string
	networkPeers       *objects.NetworkPeers
	image              observe.EtcdImage
}

// assemble joins the parts of the operator. Each has its own memory.
func assemble(p parts) *Reconciler {
	api := &view.KubeAPI{Client: p.Client, APIReader: p.APIReader}
	list, sizes, paces := &kubecache.Lists{KubeAPI: api, Gate: p.lists}, &failure.Refusals{}, &view.Memory[queue.Pace]{}
	r := &Reconciler{
		KubeAPI: api, Events: p.Events, Now: p.Now, metrics: p.metrics, brake: p.brake, paces: paces,
		secrets: &secrets.Secrets{KubeAPI: api, Rereads: p.rereads, Ledger: secrets.NewLedger()},
		questions: &members.Questions{
			Connections: &members.Connections{Dial: p.Dial}, Shown: p.Shown, Applied: p.Applied, Wake: p.wake, Metrics: p.metrics, Paces: paces,
		},
		times: &dryrun.Times{KubeAPI: api, Server: p.server},
	}
	r.rehearsals = &dryrun.Rehearsals{Lists: list, SeedImage: p.SeedImage, SeedEnv: p.SeedEnv, WakeUp: r.questions.WakeUp}
	r.observer = &observe.Observer{
		Lists: list, Secrets: r.secrets, Questions: r.questions, Rehearsals: r.rehearsals, Times: r.times, Brake: p.brake, Refusals: sizes,
		SeedProgress: p.SeedProgress, Explaining: p.explaining,
		Defects: p.defects, Issuers: p.issuers, CertificateDomains: p.certificateDomains, NetworkPeers: p.networkPeers, Image: p.image,
	}
	r.actor = act.NewActor(&confirm.Confirmer{Lists: list, Shard: p.shard, Connections: r.questions.Connections, Rehearsals: r.rehearsals, Times: r.times}, p.brake, sizes, p.networkPeers)
	return r
}
