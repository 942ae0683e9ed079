package archiving

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
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
