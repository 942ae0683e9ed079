package observe

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

func observePod(w *world.World, p *world.Pod, m *state.Member) {
	m.InitialSize = max(m.InitialSize, p.InitialSize)
	m.Pod, m.PodReason, m.PodMessage = p.State, p.Reason, p.Wrong
	m.Empty = p.State == state.PodBlocked && p.Wrong == world.WithoutData
	m.DataInPod, m.PodCreated = p.InPod, w.At(p.Created)
	m.ProbesAlarm = p.ProbesAlarm
	m.PodReady, m.InService, m.Start, m.Waits = p.Ready, p.Exposed, p.Start, p.Waits
	m.MayStartEmpty = w.Volatile && world.MayStartEmpty(p)
	if p.AddressSince > 0 {
		m.AddressSince = w.At(p.AddressSince)
	}
	m.Outdated, m.Relabel = p.Template != w.Template, p.Labels != w.Labels
	observeResize(w, p, m)
	m.PodImage, m.Peers = world.Image(p.Version), strings.Join(p.Peers, ",")
	m.PodQuota = ptr.To(int64(p.Quota) * world.MiB)
	if !p.Ready {
		m.UnreadySince = w.At(p.UnreadySince)
	}
	if p.State == state.PodDeleting {
		m.GoneBy, m.Stopped = w.At(p.GoneBy), p.Ended
	}
	observeTLS(w, p, m)
	m.Terminated = p.State == state.PodEnded
	m.NodeSilent = p.Stuck
	m.Zone = fmt.Sprintf("zone-%d", p.Zone)
	if p.Start == state.StartSeed {
		m.Seed = &state.Seed{Failures: p.Failures, Hopeless: p.Hopeless, Message: "what the init container said", Promoting: p.Promoting}
		if p.Follows(w) {
			m.Seed.Following = &v1beta2.FollowStatus{Revision: w.RestoreOf(p).Revision}
		}
	}
	if d := w.Running(p); d != nil {
		m.Corrupt = d.Corrupt && p.State == state.PodBlocked && p.Placed
	}
	if w.Present != nil {
		hearPresent(w, p, m)
		return
	}
	hear(w, p, m)
}

// observeResize is what the operator sees of a Pod that differs in nothing else.
func observeResize(w *world.World, p *world.Pod, m *state.Member) {
	if p.Resources == w.Resources {
		return
	}
	alone := !m.Outdated && p.State == state.PodRunning
	m.Outdated = true
	late := time.Duration(w.Now-p.Resize.At)*time.Second > lifecycle.ResizeGrace
	switch current := p.Resize.Asked == w.Resources; {
	case !alone:
	case !current, p.Resize.Forbidden:
		m.Resize = lifecycle.ResizeWanted
	case p.Resize.Refused, p.Resize.Infeasible, late:
	default:
		m.Resize = lifecycle.ResizeUnderWay
	}
}

// hearPresent asks at the address of a cached Pod.
func hearPresent(w *world.World, p *world.Pod, m *state.Member) {
	if live := w.Present.Pod(p.Name); live != nil && live.UID == p.UID && p.State == state.PodRunning {
		hear(w.Present, live, m)
	}
}
