package seeder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

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

func writePromoted(volume string, p seed.Promoted) error {
	content, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return writeSynced(filepath.Join(volume, promotedName), content)
}

// Promoted returns what a standby had at its promotion, as one line of JSON. It is empty if the volume has no promoted standby.
func Promoted(dataDir string) string {
	return recorded(dataDir, promotedName)
}

// recorded returns what a file beside the data directory has; empty if there is none.
func recorded(dataDir, name string) string {
	content, err := os.ReadFile(filepath.Join(filepath.Dir(dataDir), name))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(content))
}
