package world

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Pod returns the Pod of that name; nil if there is none.
func (w *World) Pod(name string) *Pod {
	for i := range w.Pods {
		if w.Pods[i].Name == name {
			return &w.Pods[i]
		}
	}
	return nil
}

// Volume returns the volume of that name; nil if there is none.
func (w *World) Volume(name string) *Volume {
	for i := range w.Volumes {
		if w.Volumes[i].Name == name {
			return &w.Volumes[i]
		}
	}
	return nil
}

// DataOf a member, on its volume or in its Pod; nil when there is none.
func (w *World) DataOf(name string) *Data {
	if d := w.Outside[name]; d != nil {
		return d
	}
	if p := w.Pod(name); p != nil && p.InPod {
		return p.Scratch
	}
	if v := w.Volume(name); v != nil {
		return v.Data
	}
	return nil
}

// Running is the data that a Pod's process has open.
func (w *World) Running(p *Pod) *Data {
	if p.InPod {
		return p.Scratch
	}
	if v := w.Volume(p.Name); v != nil {
		return v.Data
	}
	return nil
}

// Life returns the etcd cluster with that ID; nil if there is none.
func (w *World) Life(id etcd.ID) *Life {
	for i := range w.Incarnations {
		if w.Incarnations[i].ID == id {
			return &w.Incarnations[i]
		}
	}
	return nil
}

// LifeOf an incarnation: the newest, for a seed may be restored more than once.
func (w *World) LifeOf(incarnation int32) *Life {
	for i := len(w.Incarnations) - 1; i >= 0; i-- {
		if w.Incarnations[i].Incarnation == incarnation {
			return &w.Incarnations[i]
		}
	}
	return nil
}

// Formed is the life that the operator has recorded, nil before.
func (w *World) Formed() *Life {
	recorded := w.Cluster.Status.ClusterID
	if recorded == "" {
		recorded = w.Services.ClientClusterID
	}
	for i := range w.Incarnations {
		if w.Incarnations[i].ID.String() == recorded {
			return &w.Incarnations[i]
		}
	}
	return nil
}

// Serves reports whether the cluster has a leader.
func (w *World) Serves() bool {
	l := w.Formed()
	return l != nil && l.Leader != 0
}

// Recorded is the volume that the status has for a member.
func (w *World) Recorded(name string) state.VolumeID {
	return state.NewState(&w.Cluster).KnownVolumes[name]
}

// Durable reports whether the spec asks for volumes.
func (w *World) Durable() bool {
	return w.Cluster.Spec.Pod == nil || w.Cluster.Spec.Pod.EmptyDir == nil
}

// ManagedTLS reports whether the operator has the CA.
func (w *World) ManagedTLS() bool { return w.Cluster.Spec.TLS.Issued() }

// ReadOnlyFence is the ID of the fence of spec.readOnly.
func (w *World) ReadOnlyFence() etcd.ID { return etcd.FenceID(w.Cluster.UID) }

// ConsentedTo says whether the user lets the operator remove a foreign member.
func (w *World) ConsentedTo(e Entry) bool {
	return slices.Contains(state.NewAsked(w.Cluster.Annotations).RemoveForeign, e.ID.String())
}

// At is the time of a second of this world.
func (w *World) At(second int) time.Time { return Epoch.Add(time.Duration(second) * time.Second) }

// Follows reports whether a standby that was not promoted runs in a Pod.
func (p *Pod) Follows(w *World) bool {
	r := w.RestoreOf(p)
	return r != nil && r.Follow && !p.Promoting && w.Running(p) == nil
}

// RestoreOf returns the EtcdRestore whose seed runs in a Pod; nil if there is none.
func (w *World) RestoreOf(p *Pod) *Restore {
	for i := range w.Restores {
		if p.Restore != "" && w.Restores[i].UID == p.Restore {
			return &w.Restores[i]
		}
	}
	return nil
}
