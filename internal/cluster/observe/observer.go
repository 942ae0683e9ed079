package observe

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/secrets"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// defaultClass remembers when a default StorageClass was last seen, for all EtcdClusters. The zero value is ready for use.
type defaultClass struct{ seen atomic.Pointer[time.Time] }

// mountWords is why the volumes of a Pod cannot be mounted, as the events say.
type mountWords struct {
	// created is the Pod's. Another one has other events.
	created time.Time
	// at is when the events were last asked for.
	at   time.Time
	said string
}

// zones are those of Nodes by name, for all EtcdClusters. The zero value is ready for use.
type zones struct {
	mu    sync.Mutex
	known map[string]knownZone
}

// Observer reads Kubernetes and etcd into views.
type Observer struct {
	*kubecache.Lists
	Secrets    *secrets.Secrets
	Questions  *members.Questions
	Rehearsals *dryrun.Rehearsals
	Times      *dryrun.Times
	Brake      *queue.Brake
	Refusals   *failure.Refusals
	// SeedProgress asks how far a seed is. If it is nil, no seed is asked.
	SeedProgress SeedProgress
	// Explaining limits the passes that read events; nil does not.
	Explaining *turns.Gate
	// Defects of etcd that the administrator has added to the known ones.
	Defects []etcdversion.Defect
	// Issuers of cert-manager that the administrator allows beside the Issuers of each namespace.
	Issuers            []state.AllowedIssuer
	CertificateDomains []string
	// NetworkPeers are what each NetworkPolicy allows; nil if the operator does not manage NetworkPolicies.
	NetworkPeers *objects.NetworkPeers
	// Image of etcd for the EtcdClusters that do not choose one.
	Image EtcdImage
	zones zones
	// defaultClass is shared by all EtcdClusters.
	defaultClass defaultClass
	Memory       view.Memory[observed]
}

// observed is what the looks at one EtcdCluster remember of those before.
type observed struct {
	repeats plan.Repeats
	// waiting is what the operator waits for.
	waiting state.Waiting
	// seen is when stored times were first seen.
	seen   clock.Seen
	logins view.Logins
	// accounts are the users and roles in etcd.
	accounts view.ReadAccounts
	// published is since when addresses of Pods that wait were seen in the headless Service, by member name and address.
	published map[endpoint]time.Time
	// mounts is what the events say about Pods that cannot mount their volumes, by member name.
	mounts map[string]mountWords
}

// endpoint is the address of a member's Pod.
type endpoint struct{ member, address string }

// SeedProgress reads the progress of the init container that restores a snapshot, at its Pod's address.
type SeedProgress func(ctx context.Context, address string) (seed.Progress, error)

// knownZone is what a Node said, and when.
type knownZone struct {
	zone string
	at   time.Time
}
