package archiving

import (
	"reflect"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// Spec is what an archiver is started with.
type Spec struct {
	job    state.JobSpec
	maxLag time.Duration
	// endpoints of the spec: other ones may be of another cluster. The members of an EtcdCluster are replaced one by one, and their archiver
	// continues.
	endpoints []string
	// recovery is the last one of the cluster from a lost quorum. After another one the archiver begins a timeline.
	recovery string
	// fence is the last revision of a cluster that refuses all writes; 0 if it accepts them, or if that is not known.
	fence int64
	// switchover is the ID in the status, and handsOver is whether the spec asks for it. The ID is in the status before the first effect.
	switchover switchover.ID
	handsOver  bool
	// promoted is the decision that the status has. It is final, also if the store lost it.
	promoted *switchover.Decision
}

// SpecOf returns what an archiver is started with, and nil if none is to run.
func SpecOf(s state.State) *Spec {
	if !s.Archived() {
		return nil
	}
	o := state.JobSpecOf(s)
	o.Request, o.Base = "", ""
	spec := &Spec{job: o, maxLag: state.MaxLag(s.Spec.Continuous), endpoints: s.Spec.EtcdEndpoints}
	if on := s.Status.Switchover; on != nil {
		spec.switchover, spec.handsOver = switchover.ID(on.ID), state.HandsOver(s)
		if on.Phase == v1beta2.SwitchoverPromoted {
			spec.promoted = &switchover.Decision{ID: spec.switchover, Promoted: on.Promoted, Holder: on.Promoted, Revision: on.Revision}
		}
	}
	if s.Cluster != nil {
		spec.recovery, spec.fence = s.Cluster.Recovery, s.Cluster.LastRevision
	}
	return spec
}

// sameArchive reports whether an archiver can go on with another spec.
func sameArchive(a, b Spec) bool {
	return a.maxLag == b.maxLag && a.recovery == b.recovery && slices.Equal(a.endpoints, b.endpoints) && a.job.Cluster == b.job.Cluster && a.job.TLSSecret == b.job.TLSSecret && a.job.AuthSecret == b.job.AuthSecret &&
		reflect.DeepEqual(a.job.Target, b.job.Target) && reflect.DeepEqual(a.job.Encoder, b.job.Encoder)
}
