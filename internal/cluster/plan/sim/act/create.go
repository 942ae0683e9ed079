package act

import (
	"errors"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/cas"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/check"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// create makes a member's volume and Pod where they are missing.
func create(w *world.World, s state.State, step steps.CreateMember) {
	if w.Durable() && (step.Start == state.StartJoin || step.Start == state.StartSeed) {
		provide(w, world.Volume{Size: sizeOf(s), Name: step.Name, Incarnation: step.Incarnation, Unused: step.Waits})
		if !step.Waits {
			use(w, step.Name)
		}
	}
	if w.Pod(step.Name) != nil {
		return
	}
	w.UIDs++
	p := world.Pod{
		Name: step.Name, UID: w.UIDs, Created: w.Now, Incarnation: step.Incarnation, InitialSize: step.InitialSize, Start: step.Start,
		Version: world.VersionOf(s.ImageFor(step.Incarnation)), State: state.PodStarting,
		Exposed: step.Start != state.StartJoin && step.Start != state.StartForce && !s.Fenced(step.Name), Zone: w.Pick(zones), UnreadySince: w.Now, Template: w.Template, Labels: w.Labels, Resources: w.Resources, ExpectedSince: w.Now, Stale: w.Stale, Unschedulable: w.NoNode,
		Quota: world.QuotaAsked(s.Spec), InPod: !w.Durable(), ProbesAlarm: earlierPod(w),
	}
	if w.TLS != nil {
		p.TLS = newEndpoint(w, s)
	}
	switch {
	case step.Start == state.StartNew:
		p.Peers = state.InitialNames(s, step.Incarnation, step.InitialSize)
	case step.Start == state.StartSeed && s.Request != nil:
		p.Restore, p.Bump = s.Request.UID, restore.SeedRevisionBump(s)
		asked := s.Request.Follow != nil && s.Request.Follow.Promote != ""
		p.Promoting = asked || s.Restore != nil && s.Restore.Follow != nil && s.Restore.Follow.Promote != ""
	case step.Waits:
		p.Waits = true
	case step.Start == state.StartJoin:
		p.Peers = state.JoinPeers(s, step.Name)
	}
	w.Pods = append(w.Pods, p)
}

// release lets a Pod that waits start etcd with the membership that was planned on.
func release(w *world.World, s state.State, name string) {
	use(w, name)
	if p := w.Pod(name); p != nil && p.Waits {
		p.Waits, p.Peers = false, state.JoinPeers(s, name)
	}
}

// use records that etcd may run on a volume from now on.
func use(w *world.World, name string) {
	if v := w.Volume(name); v != nil {
		v.Unused = false
	}
}

func sizeOf(s state.State) int64 {
	request := state.StorageRequest(s)
	return request.Value()
}

// newEndpoint is what a Pod has that is created now. The clock of its node may be wrong.
func newEndpoint(w *world.World, s state.State) *cas.Endpoint {
	e := &cas.Endpoint{Trust: s.Certificates.Trust, Loaded: s.Certificates.Loaded}
	switch w.Pick(10) {
	case 8:
		e.Skew = -cas.WrongClock
	case 9:
		e.Skew = cas.WrongClock
	}
	return e
}

// earlierPod reports whether an earlier operator makes the next Pod. It knows nothing of spec.readOnly, so that the spec asks for it later.
func earlierPod(w *world.World) bool {
	l := w.Formed()
	return w.Pick(4) == 1 && !w.Cluster.Spec.ReadOnly && (l == nil || len(l.Fences) == 0)
}

// zones that nodes are in.
const zones = 3

// provide makes a volume where there is none of that name.
func provide(w *world.World, v world.Volume) {
	if w.Volume(v.Name) == nil {
		w.UIDs++
		v.UID, v.Created = w.UIDs, w.Now
		w.Volumes = append(w.Volumes, v)
	}
}

// forcing is what the operator reads past its cache before it starts a Pod with --force-new-cluster.
func forcing(w *world.World, name string) bool {
	recovery := w.Cluster.Status.Recovery
	return recovery != nil && recovery.Step == v1beta2.RecoveryForcing && recovery.ForcedAt != nil && recovery.Member == name && check.Company(w, name) == ""
}

// otherThanRecorded is what the operator reads past its cache before it starts a member with its data.
func otherThanRecorded(w *world.World, s state.State, name string) bool {
	v := w.Volume(name)
	if v == nil {
		return false
	}
	recorded := w.Recorded(name)
	live := observe.Named(s, name)
	live.VolumeID, live.Volume = world.VolumeID(v), state.VolumePresent
	s.KnownVolumes = map[string]state.VolumeID{}
	if recorded.Claim != "" {
		s.KnownVolumes[name] = recorded
	}
	return state.OnAnotherVolume(s, live)
}

var errStale = errors.New("the recovery is at another step by now")
