package act

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/confirm"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
)

// Actor carries out steps.
type Actor struct {
	*writer
	confirmer    *confirm.Confirmer
	brake        *queue.Brake
	etcd         *etcdActs
	pods         *podActs
	volumes      *volumeActs
	certificates *certificateActs
	Objects      *objectActs
}

// certificateActs do the steps of certificates.
type certificateActs struct {
	*writer
}

// etcdActs do the steps that ask something of etcd.
type etcdActs struct {
	*members.Connections
	pods       *podActs
	rehearsals *dryrun.Rehearsals
}

// podActs do the steps that create, change or delete Pods.
type podActs struct {
	*writer
	confirmer  *confirm.Confirmer
	rehearsals *dryrun.Rehearsals
}

// objectActs apply what stands around the members: Services and the NetworkPolicy.
type objectActs struct {
	*writer
	// NetworkPeers are what each NetworkPolicy allows; nil if the operator does not manage NetworkPolicies.
	NetworkPeers *objects.NetworkPeers
}

// volumeActs do the steps that create, change or delete volumes.
type volumeActs struct {
	*writer
	times    *dryrun.Times
	refusals *failure.Refusals
}

// NewActor joins what carries out steps.
func NewActor(c *confirm.Confirmer, b *queue.Brake, sizes *failure.Refusals, peers *objects.NetworkPeers) *Actor {
	w := &writer{c.KubeAPI}
	pods := &podActs{writer: w, confirmer: c, rehearsals: c.Rehearsals}
	return &Actor{
		writer: w, confirmer: c, brake: b, pods: pods,
		etcd:         &etcdActs{Connections: c.Connections, pods: pods, rehearsals: c.Rehearsals},
		volumes:      &volumeActs{writer: w, times: c.Times, refusals: sizes},
		certificates: &certificateActs{w},
		Objects:      &objectActs{writer: w, NetworkPeers: peers},
	}
}
