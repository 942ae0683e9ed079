package seeder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// A standby is a seed that does not end until it is promoted. Its database is in a directory beside the data directory, so a process that starts again continues
// there. The promotion makes a snapshot file of that database, and restores it like any other snapshot.

// The names on the volume, beside the data directory.
const (
	standbyName  = ".etcd-standby"  // the directory of the follower
	claimedName  = ".etcd-claimed"  // the decision that this standby becomes the cluster
	promotedName = ".etcd-promoted" // what was promoted. It is kept, because the process may be killed before its result is reported
)

// The names in the directory of the follower that are not its own: the snapshot file of a promotion, and where a base is fetched.
const deliveredName, fetchName = "promoted.db", "fetch"

// fallbackTTL in seconds is that of leases whose TTL the archive does not have.
const fallbackTTL = 3600

// followMemory is the soft limit of the memory while a standby follows.
const followMemory = 40 << 20

// promotePoll is how often a standby looks whether it is to be promoted.
const promotePoll = 300 * time.Millisecond

// errPromoted ends the following, because the promotion was asked for. errStopped ends it, because the source has stopped, and a planned promotion was asked for.
var (
	errPromoted = errors.New("the promotion was asked for")
	errStopped  = errors.New("the source has stopped")
)

// errSecretChanged ends the following, because the store must be opened with other credentials.
var errSecretChanged = errors.New("the Secret has changed")

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

// promotionAsked returns the promotion that the annotation of the Pod asks for. It is empty if it asks for none.
func (s *Seeder) promotionAsked() v1beta2.FollowPromotion {
	content, err := os.ReadFile(filepath.Join(s.PodDir, seed.PromoteFile))
	if err != nil {
		return ""
	}
	return v1beta2.FollowPromotion(bytes.TrimSpace(content))
}

// promote creates the data directory from the database of the standby. A process that was killed in between continues.
func (s *Seeder) promote(ctx context.Context, r seed.Request, o standby.Options) error {
	volume := filepath.Dir(r.DataDir)
	delivered := filepath.Join(o.Dir, deliveredName)
	d, err := claimed(volume)
	if err != nil {
		return err
	}
	o.Unsealed = d != nil
	result, err := standby.Finish(ctx, o, delivered)
	if err != nil {
		return fmt.Errorf("end the following: %w: %w", source.ErrDisk, err)
	}
	s.progress.promoting()
	s.Log.Info("promoting the standby", "timeline", int64(result.Timeline), "revision", result.Revision, "leasesWithoutTTL", result.Fallback)
	promoted := seed.Promoted{Timeline: int64(result.Timeline), Revision: result.Revision, Time: result.At.UTC()}
	if d != nil {
		if d.Revision != result.Revision {
			return fmt.Errorf("the source has ended with revision %d, and the database of the standby has revision %d: %w", d.Revision, result.Revision, source.ErrDisk)
		}
		r.RevisionBump, promoted.Planned = 0, true // the source has stopped, so no client is ahead
	}
	if err := writePromoted(volume, promoted); err != nil {
		return fmt.Errorf("record the promotion: %w: %w", source.ErrDisk, err)
	}
	if d != nil {
		err = s.adopt(ctx, r, delivered)
	} else {
		err = s.restoreDelivered(ctx, r, delivered)
	}
	if err != nil {
		return err
	}
	return s.removeStandby(volume)
}

// adopt moves the database of a standby into the data directory: the clients have no cluster until then, so a copy of gigabytes would take too long.
func (s *Seeder) adopt(ctx context.Context, r seed.Request, file string) error {
	err := dbfile.Adopt(ctx, restoreOptions(r, file, r.DataDir))
	if err != nil {
		return fmt.Errorf("%w: %w", source.ErrDisk, err)
	}
	s.Log.Info("moved the database of the standby into the data directory", "dataDir", r.DataDir, "member", r.Name)
	return nil
}

// restoreDelivered restores the database of a standby with higher revisions.
func (s *Seeder) restoreDelivered(ctx context.Context, r seed.Request, file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("read the size of the database: %w: %w", source.ErrDisk, err)
	}
	r.Size, r.PlainSize = info.Size(), 0
	staging := filepath.Join(filepath.Dir(r.DataDir), stagingName)
	if err := os.Mkdir(staging, 0o700); err != nil {
		return fmt.Errorf("create a staging directory on the volume: %w: %w", source.ErrDisk, err)
	}
	if err := s.restore(ctx, r, file, filepath.Join(staging, "data")); err != nil {
		return errors.Join(err, os.RemoveAll(staging))
	}
	return nil
}

// removeStandby removes what a promotion does not need any more.
func (s *Seeder) removeStandby(volume string) error {
	for _, name := range []string{standbyName, stagingName, claimedName} {
		if err := os.RemoveAll(filepath.Join(volume, name)); err != nil {
			return fmt.Errorf("remove the files of the standby: %w: %w", source.ErrDisk, err)
		}
	}
	return nil
}

func writePromoted(volume string, p seed.Promoted) error {
	content, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return writeSynced(filepath.Join(volume, promotedName), content)
}

// Promoted returns what a standby had at its promotion, as one line of JSON. It is empty if the volume has no promoted standby.
func Promoted(dataDir string) string {
	content, err := os.ReadFile(filepath.Join(filepath.Dir(dataDir), promotedName))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(content))
}
