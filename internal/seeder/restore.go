package seeder

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// restore creates the data directory in data and moves it into place.
func (s *Seeder) restore(ctx context.Context, r seed.Request, file, data string) error {
	started := time.Now()
	s.progress.restoring(data, r.Plain())
	err := dbfile.Restore(ctx, restoreOptions(r, file, data))
	if err != nil && !source.Corrupt(err) {
		err = fmt.Errorf("%w: %w", source.ErrDisk, err) // all other errors are about local files
	}
	if err != nil {
		return err
	}
	if err := replace(data, r.DataDir); err != nil {
		return fmt.Errorf("move the data directory into place: %w: %w", source.ErrDisk, err)
	}
	s.Log.Info("restored the data directory", "dataDir", r.DataDir, "member", r.Name, "revisionBump", r.RevisionBump, "took", time.Since(started).String())
	return nil
}

func restoreOptions(r seed.Request, file, data string) dbfile.Options {
	return dbfile.Options{
		SnapshotPath:   file,
		DataDir:        data,
		Name:           r.Name,
		PeerURLs:       []string{r.PeerURL},
		InitialCluster: r.Name + "=" + r.PeerURL,
		Token:          r.Token,
		RevisionBump:   uint64(r.RevisionBump),
		MarkCompacted:  r.RevisionBump > 0,
		Proven:         true, // fetch has verified it, or it is the database of a standby
	}
}
