package source

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Point is how a store reaches a revision or a time: the newest snapshot at or before it, and the segments of the continuous
// archive up to it.
type Point struct {
	// Base is the snapshot that the replay begins with. Series and Manifest are its own.
	Base     v1beta2.RestoreSource
	Series   snapshot.Series
	Manifest snapshot.Manifest
	// Root of the archive, and what to replay.
	Root string
	archive.Choice
	// Other is the UID of the EtcdCluster that had the point, if it is not the one that the restore is about.
	Other string
	// Alike are the keys of the encrypted snapshots of the EtcdBackup that has taken the base. If no identity decrypts one, none decrypts the others.
	Alike []string
	// Store has all of it.
	Store objstore.Store

	lag time.Duration // see lagOf; 0 for a revision
}

// Because explains in one sentence how the point is reached.
func (p Point) Because() string {
	text := fmt.Sprintf("%s of timeline %d, from the snapshot %s/%s at revision %d and %d segments of the continuous archive",
		p.Reached, p.Timeline, p.Base.Bucket, p.Base.Key, p.Choice.Base.Point.Revision, len(p.Links))
	if p.Other != "" {
		text += fmt.Sprintf("; it is of another EtcdCluster with the same name, which had the UID %s", p.Other)
	}
	if p.Resolution > 0 {
		text += fmt.Sprintf("; the next change that is not restored was received at most %s later", p.Resolution.Round(time.Millisecond))
	}
	return text + p.clocks()
}

// clocks explains what a difference of the clocks means for a point that a time has chosen. It is empty if they agree.
func (p Point) clocks() string {
	switch {
	case p.lag > usualLag:
		return fmt.Sprintf("; the store received its last segment %s later than the changes in it, by the clock of the store: if neither maxLag nor an outage explains that, "+
			"the clock of backup-operator was behind, and the point has changes of up to %[1]s after the chosen time", p.lag.Round(time.Second))
	case p.lag < -usualLag:
		return fmt.Sprintf("; the clock of backup-operator was %s ahead of the clock of the store, so the point lacks changes of up to %[1]s before the chosen time", (-p.lag).Round(time.Second))
	}
	return ""
}

// usualLag is how much later than its changes a store receives a segment if nothing is wrong: maxLag and the upload.
const usualLag = 2 * time.Minute

// lagOf returns how much later than its changes the store received the last segment of a choice. The changes have times of the clock of
// backup-operator, and the object has one of the clock of the store. It is negative if the store received it before. It is 0 if that is not known:
// a listing may omit the segment, and no restore fails for that.
func lagOf(ctx context.Context, store objstore.Store, c archive.Choice) time.Duration {
	if len(c.Links) == 0 {
		return 0
	}
	last := c.Links[len(c.Links)-1]
	for object, err := range store.List(ctx, last.Key) {
		if err != nil || object.Key != last.Key || object.ModTime.IsZero() {
			break
		}
		return object.ModTime.Sub(last.Header.To().At)
	}
	return 0
}
