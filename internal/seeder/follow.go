package seeder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// A standby is a seed that does not end until it is promoted. Its database is in a directory beside the data directory, so a process that starts again continues
// there. The promotion makes a snapshot file of that database, and restores it like any other snapshot.

// fallbackTTL in seconds is that of leases whose TTL the archive does not have.
const fallbackTTL = 3600

// follow follows the archive until the promotion is asked for, and then creates the data directory. It opens the store again whenever the Secret changes: credentials are
// replaced while a standby follows for months.
func (s *Seeder) follow(ctx context.Context, r seed.Request) error {
	for {
		err := s.followWithSecret(ctx, r)
		if !errors.Is(err, errSecretChanged) {
			return err
		}
		s.Log.Info("opening the store again, because the Secret has changed", "secret", r.Source.Secret)
	}
}

// followWithSecret follows with the present Secret.
func (s *Seeder) followWithSecret(ctx context.Context, r seed.Request) error {
	volume := filepath.Dir(r.DataDir)
	alone := standby.Options{Dir: filepath.Join(volume, standbyName), FallbackTTL: fallbackTTL, Now: time.Now}
	decision, err := claimed(volume)
	if err != nil {
		return err
	}
	if decision != nil && decision.Holder != r.Token {
		return fmt.Errorf("%w: this volume is a copy of that of EtcdRestore %s, which has taken over from the source. Delete this EtcdCluster and its volume", source.ErrDisk, decision.Promoted)
	}
	if decision != nil { // it has all writes, and whatever the archive has now came after its source
		return s.promote(ctx, r, alone)
	}
	o, err := s.followOptions(ctx, r, alone.Dir)
	if err != nil && s.promotionAsked() == v1beta2.FollowPromoteNow {
		// The store or its Secret may be lost with the source. Then the promotion ends with what the standby has.
		s.Log.Info("promoting without the store", "error", err.Error())
		promoted := s.promote(ctx, r, alone)
		if errors.Is(promoted, standby.ErrNoBase) {
			return err
		}
		return promoted
	}
	if err != nil {
		return err
	}
	if err := (&following{Seeder: s, request: r, options: o}).untilPromoted(ctx); err != nil {
		return err
	}
	return s.promote(ctx, r, o)
}

// followOptions returns the options of the follower in a directory.
func (s *Seeder) followOptions(ctx context.Context, r seed.Request, dir string) (standby.Options, error) {
	secret, err := mounted(s.CredentialsDir, r.Source.Secret)
	if err != nil {
		return standby.Options{}, err
	}
	if r.Source.Secret != "" && len(secret) == 0 {
		return standby.Options{}, fmt.Errorf("read Secret %s: it does not exist, or has no keys: create it", r.Source.Secret)
	}
	s.secret = secret
	by := source.By{Secret: secret, For: grant.Process(), Signers: snapshot.Anyone}
	choice := source.Choice{Folder: true, Of: r.Follow.Cluster, UID: r.Follow.UID, Prefer: r.Follow.ClusterID, ClusterID: r.Follow.Only}
	store, root, err := source.OpenArchive(ctx, r.Source, by, r.Follow.Cluster)
	if err != nil {
		return standby.Options{}, err
	}
	return standby.Options{
		Dir: dir, Store: store, Root: root, Identities: connect.Identity(secret), FallbackTTL: fallbackTTL,
		Find: func(ctx context.Context) (archive.Choice, error) {
			found, err := source.FindNewest(ctx, r.Source, by, choice)
			return found.Choice, err
		},
		Fetch: func(ctx context.Context, base archive.Base, path string) error {
			if s.baseComes != nil {
				s.baseComes()
			}
			return s.fetchBase(ctx, r, by, base, path)
		},
		Report: s.progress.following, Now: time.Now,
	}, nil
}

// fetchBase reads the snapshot of a base, compares it with its manifest, and moves it to path.
func (s *Seeder) fetchBase(ctx context.Context, r seed.Request, by source.By, base archive.Base, path string) error {
	from := r.Source
	from.Key = base.Key
	s.Log.Info("fetching a base of the archive", "bucket", from.Bucket, "key", from.Key, "revision", base.Point.Revision)
	dir := filepath.Join(filepath.Dir(path), fetchName)
	if err := os.RemoveAll(dir); err != nil { // a process was killed while it fetched one
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	proven, err := source.ReadBase(ctx, from, by, dir)
	if err != nil {
		return err
	}
	return errors.Join(os.Rename(proven.File, path), os.RemoveAll(dir))
}
