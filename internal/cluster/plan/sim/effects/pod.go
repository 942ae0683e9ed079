package effects

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/cas"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// TickPod says whether the Pod is gone.
func TickPod(w *world.World, p *world.Pod) bool {
	if w.Pick(2) == 1 {
		return false // not this time
	}
	switch p.State {
	case state.PodDeleting:
		gone := p.Ended
		p.Ended = !p.Stuck // the object goes some time after the containers
		return gone
	case state.PodStarting, state.PodBlocked:
		if w.Rejecting && !p.Placed {
			p.State, p.Reason, p.Wrong = state.PodEnded, v1beta2.ReasonPodFailing, "OutOfcpu: the node has no room"
			return false
		}
		if (p.Waits || p.Follows(w)) && p.AddressSince > 0 || w.TLS != nil && w.TLS.Missing {
			return false // until it is released, or its Secrets exist
		}
		p.State, p.Reason, p.Wrong = state.PodRunning, "", ""
		if reason, wrong := boot(w, p); reason != "" {
			p.State, p.Reason, p.Wrong = state.PodBlocked, reason, wrong
		}
		if p.State == state.PodRunning && w.Running(p) == nil {
			p.State = state.PodStarting
		}
		p.Mute = startsMute(w, p)
		raft.Begin(w, p)
	case state.PodRunning:
		if d := w.Running(p); d == nil || w.Life(d.Cluster).ByID(d.Member) == nil {
			p.State, p.Reason, p.Wrong = state.PodBlocked, v1beta2.ReasonPodFailing, "the member was removed"
			raft.Unready(w, p)
		}
		kubeletMounts(w, p)
	}
	return false
}

// startsMute reports whether the etcd of a Pod that just started has no quorum.
func startsMute(w *world.World, p *world.Pod) bool {
	d := w.Running(p)
	if !w.Handmade && w.TLS == nil || p.State != state.PodRunning || d == nil {
		return false
	}
	l := w.Life(d.Cluster)
	if w.TLS != nil {
		return l != nil && l.Quorate
	}
	return l != nil && l.Leader == 0 && l.Quorate
}

// kubeletMounts writes changed certificates into a Pod that runs. It says whether that changed something.
func kubeletMounts(w *world.World, p *world.Pod) bool {
	if w.TLS == nil || w.TLS.Missing || !MountsLater(w, p) || w.Pick(4) != 0 {
		return false
	}
	p.SetTLS(func(e *cas.Endpoint) { e.Mount(w.TLS.Held) })
	return true
}

// MountsLater reports whether the certificates in a Pod that runs are not those of the Secrets.
func MountsLater(w *world.World, p *world.Pod) bool {
	held := w.TLS.Held
	return p.TLS != nil && p.State == state.PodRunning && !w.TLS.Missing && (p.TLS.Has.Peer.Signer != held.Peer.Signer || p.TLS.Has.Client.Signer != held.Client.Signer)
}

// tickResize says whether the node did something.
func tickResize(w *world.World, p *world.Pod) bool {
	if p.State != state.PodRunning || !p.Accepted() {
		return false
	}
	switch w.Nodes {
	case world.ResizeInfeasible:
		moved := !p.Resize.Infeasible
		p.Resize.Infeasible = true
		return moved
	case world.ResizeDeferred, world.ResizeLost:
		return false
	}
	p.Resources, p.Resize.Infeasible = p.Resize.Asked, false
	return true
}
