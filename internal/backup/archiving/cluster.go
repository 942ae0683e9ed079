package archiving

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd/watch"
)

// openMembers connects to members. It fails if they refuse an archiver, which lists the whole archive in the store as soon as it starts: each
// retry would list it again.
func openMembers(ctx, limited context.Context, o watch.Options) (*watch.Client, error) {
	cluster, err := watch.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := cluster.Permitted(limited); err != nil {
		cluster.Close()
		return nil, ofMembers(err)
	}
	return cluster, nil
}

// members marks the errors of a cluster, so that they are not taken for those of the store.
type members struct{ archiver.Cluster }

func ofMembers(err error) error {
	if err == nil || errors.Is(err, archiver.ErrNoLease) {
		return err
	}
	return fmt.Errorf("%w: %w", failure.ErrMembers, err)
}

func (m members) Head(ctx context.Context) (archiver.Head, error) {
	head, err := m.Cluster.Head(ctx)
	return head, ofMembers(err)
}

func (m members) Auth(ctx context.Context, clusterID uint64) (auth.State, error) {
	state, err := m.Cluster.Auth(ctx, clusterID)
	return state, ofMembers(err)
}

func (m members) TTL(ctx context.Context, clusterID uint64, lease int64) (int64, error) {
	ttl, err := m.Cluster.TTL(ctx, clusterID, lease)
	return ttl, ofMembers(err)
}

func (m members) Watch(ctx context.Context, from int64) (archiver.Stream, error) {
	s, err := m.Cluster.Watch(ctx, from)
	return memberStream{s}, ofMembers(err)
}

type memberStream struct{ archiver.Stream }

func (s memberStream) Receive() (archiver.Response, error) {
	r, err := s.Stream.Receive()
	return r, ofMembers(err)
}

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
