package restore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbcheck"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

const (
	// fallbackTTL in seconds is that of leases whose TTL the archive does not have.
	fallbackTTL = 3600
	// compactAfter is after how many bytes of changes a replay compacts the database.
	compactAfter = 256 << 20
	// replayGrowth is how much larger a replay may make the database, as far as the spool reckons with it.
	replayGrowth = 2 * compactAfter
)

// provePoint replays a continuous archive up to the asked point, and stores the result as a snapshot. So the archive is proven
// completely before anything is changed, and the seed continues as with any snapshot.
func (s Spool) provePoint(ctx context.Context, asked Asked, limit *readLimit) (Found, error) {
	read, err := s.readBase(ctx, asked, limit)
	if err != nil {
		return Found{}, err
	}
	defer read.share.Release()
	point, base, steps := read.point, read.base, read.steps
	defer discard(base)
	if err := snapshot.CheckKey(pointSeries(asked, point).EncodedKey(asked.Point.Time, point.Reached.Revision, point.Encoding())); err != nil {
		return Found{}, fmt.Errorf("%w: the snapshot of the point: %w", errKey, err)
	}
	result, err := s.replayGrowing(ctx, asked, read)
	if err != nil {
		return Found{}, fmt.Errorf("replay the archive up to %s: %w", point.Reached, err)
	}
	rest, err := read.rest()
	if err != nil {
		return Found{}, err
	}
	keys, err := s.keys(ctx, asked, base)
	if err != nil {
		return Found{}, err
	}
	found := Found{Keys: keys, Source: point.Base, ChosenBecause: point.Because() + read.passedOver(), Point: statusOf(point, result), Base: base.Snapshot}
	if asked.Point.DryRun {
		found.Proven, err = describe(ctx, asked.Namespace, base)
		return found, err
	}
	if found.Source.Key, err = s.storePoint(ctx, asked, point, base.File, rest); err != nil {
		return Found{}, fmt.Errorf("%w: %w", errPointTarget, err)
	}
	found.Proven, err = s.readPoint(ctx, asked, found.Source, point, rest, steps.of(2))
	return found, err
}

// baseRead is a base snapshot in the spool, and the point that is reached from it.
type baseRead struct {
	point    source.Point
	base     source.Proven
	share    *spool.Share
	steps    stages
	unusable []string // the keys of later snapshots that were passed over
	alike    []string // the keys of snapshots that cannot be decrypted either
}

// readBase reads the newest snapshot from which the point can be reached. If that is damaged, or deleted meanwhile, or if the store does not return
// it, an earlier one of the same timeline may reach the point, too: it only needs more segments. The same holds if another EtcdBackup of the folder has
// encrypted it for another identity. Another timeline has other data at that point. It tries them for as long as one reading may take.
func (s Spool) readBase(ctx context.Context, asked Asked, limit *readLimit) (read baseRead, err error) {
	var unusable error
	for began := time.Now(); ; {
		objstore.HoldingOf(ctx).Release() // of the point before
		point, err := findPoint(ctx, asked, slices.Concat(read.unusable, read.alike))
		if err != nil || unusable != nil && point.Timeline != read.point.Timeline {
			return read, cmp.Or(unusable, err)
		}
		read.point = point
		err = s.readBaseOf(ctx, asked, limit, &read)
		if !replaceable(err) || time.Since(began) > readMost {
			return read, err
		}
		unusable = cmp.Or(unusable, err)
		read.unusable = append(read.unusable, read.point.Base.Key)
		if source.Undecryptable(err) {
			read.alike = append(read.alike, read.point.Alike...)
		}
	}
}

// findPoint finds out how to reach the point. After that, only the headers of its segments are held, and no name: the store decides how long they are read.
func findPoint(ctx context.Context, asked Asked, without []string) (source.Point, error) {
	finding, held := objstore.Hold(ctx, asked.Namespace)
	defer held.Release()
	point, err := source.FindPoint(finding, asked.Source, asked.By, asked.Choice, asked.Point.Progress, without...)
	if err != nil {
		return point, err
	}
	held.Release()
	return point, objstore.HoldingOf(ctx).Add(point.Held())
}

// replaceable reports whether an error may concern one base only, so that an earlier one is tried.
func replaceable(err error) bool {
	return source.Corrupt(err) || source.Missing(err) || source.Unreturned(err) || source.Undecryptable(err)
}

// readBaseOf reads the base of a point into the spool. After an error it holds no space of the spool.
func (s Spool) readBaseOf(ctx context.Context, asked Asked, limit *readLimit, read *baseRead) error {
	size, err := source.SizeOf(ctx, read.point.Base, asked.By)
	if err != nil {
		return err
	}
	bytes := read.point.Bytes()
	// The database and its copy that is uploaded.
	needed := func(size int64) int64 { return 2 * (size + min(bytes, replayGrowth)) }
	if read.share, err = s.reserve(ctx, asked, needed(size)); err != nil {
		return err
	}
	room := proof.RoomFunc(func(size, written int64) error { return read.share.Grow(needed(size), written) })
	limit.begin(2*size + bytes)
	read.steps = stages{report: asked.Progress, sizes: [3]int64{size, bytes, size}}
	if read.base, err = source.Read(ctx, read.point.Base, asked.By, s.place(asked.Namespace, room), read.steps.of(0)); err != nil {
		read.share.Release()
	}
	return err
}

// rest returns the room for another file beside the database.
func (b baseRead) rest() (*spool.Share, error) {
	info, err := os.Stat(b.base.File)
	if err != nil {
		return nil, fmt.Errorf("read the size of the replayed snapshot: %w: %w", source.ErrDisk, err)
	}
	return b.share.Beside(info.Size()), nil
}

// replayGrowing replays the archive, and ends when the database outgrows the spool. The copy that is uploaded is reserved, too.
func (s Spool) replayGrowing(ctx context.Context, asked Asked, read baseRead) (replay.Result, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	report := read.steps.of(1)
	result, err := s.replay(ctx, asked, read.point, read.base.File, func(bytes, of int64) {
		if info, err := os.Stat(read.base.File); err == nil {
			if err := read.share.Grow(2*info.Size(), info.Size()); err != nil {
				end(err)
			}
		}
		report(bytes, of)
	})
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = errors.Join(cause, err)
	}
	return result, err
}

// reserved is the spool of a job that has reserved its space already.
type reserved struct{ share *spool.Share }

func (r reserved) Reserve(_ context.Context, bytes int64) (*spool.Share, error) {
	return r.share, r.share.Grow(bytes, 0)
}

// passedOver says which snapshots were passed over.
func (b baseRead) passedOver() string {
	if len(b.unusable) == 0 {
		return ""
	}
	return "; these snapshots after it are damaged, were deleted, cannot be decrypted, or the store does not return them: " + strings.Join(b.unusable, ", ")
}

// discard removes the file of a snapshot that was read.
func discard(read source.Proven) { _ = os.Remove(read.File) }

// replay writes the changes up to the point into the file of the base.
func (s Spool) replay(ctx context.Context, asked Asked, point source.Point, file string, progress source.Progress) (replay.Result, error) {
	return s.replays.run(ctx, asked, replay.Order{
		Options: replay.Options{
			Path: file, Revision: point.Reached.Revision, Chain: point.Chain, Identities: connect.Identity(asked.Secret),
			FallbackTTL: fallbackTTL, CompactAfter: compactAfter,
		},
		Store: point.Store, Root: point.Root, Links: point.Links, Progress: func(n int64) { progress(n, 0) },
	})
}

// readPoint reads the stored snapshot as the seed will.
func (s Spool) readPoint(ctx context.Context, asked Asked, stored v1beta2.RestoreSource, point source.Point, rest *spool.Share, progress source.Progress) (source.Proven, error) {
	proven, err := source.Read(ctx, stored, asked.By, s.place(asked.Namespace, rest), progress)
	if err != nil {
		return source.Proven{}, err
	}
	defer discard(proven)
	if got := max(proven.Snapshot.Revision, 1); got != point.Reached.Revision { // an empty database has revision 1
		return source.Proven{}, fmt.Errorf("%w: the stored snapshot %s has revision %d, want %d", replay.ErrRefused, proven.Snapshot.Path, got, point.Reached.Revision)
	}
	return proven, nil
}

// storePoint stores the replayed snapshot in the folder of the safety snapshots, and returns its key.
func (s Spool) storePoint(ctx context.Context, asked Asked, point source.Point, file string, rest *spool.Share) (string, error) {
	encoding := point.Encoding()
	encoder := codec.Encoder{Compression: encoding.Compression}
	if encoding.Encryption != "" {
		var err error
		if encoder.Recipients, err = codec.RecipientsOf(connect.Identity(asked.Secret)); err != nil {
			return "", fmt.Errorf("encrypt it for the identity in Secret %s: %w", asked.Source.Secret, err)
		}
	}
	location := storage.FromSource(asked.Source)
	location.Options = asked.Point.Options
	store, err := connect.Open(ctx, connect.Access{Location: location, Data: asked.Secret, For: asked.For})
	if err != nil {
		return "", err
	}
	series := pointSeries(asked, point)
	request := save.Request{
		Namespace: asked.Namespace,
		Source:    fileSource(file), Store: store, SpoolDir: s.Dir(), Spool: reserved{rest}, Encoder: encoder,
		Key:     series.EncodedKey(asked.Point.Time, point.Reached.Revision, encoder.Encoding()),
		Cluster: point.Manifest.Cluster, EtcdVersion: point.Manifest.EtcdVersion,
		Time: asked.Point.Time, Since: asked.Point.Time, Tool: Name + " " + operator.Version, Attempt: asked.Point.Mark + madeOf(point), Again: true,
	}
	if _, err := save.Snapshot(ctx, request); err != nil {
		return "", err
	}
	dropUploads(ctx, store, request.Key)
	return request.Key, nil
}

// madeOf names the timeline and the base of a point. It is in the key and the mark, so that a second attempt adopts nothing that was made from
// another history.
func madeOf(point source.Point) string {
	sum := sha256.Sum256([]byte(point.Base.Key))
	return fmt.Sprintf("-%d-%x", point.Timeline, sum[:4])
}

// pointSeries is the series of the snapshot of a point. Its keys are longer than those of its base.
func pointSeries(asked Asked, point source.Point) snapshot.Series {
	series := point.Series
	series.Folder = path.Join(state.SafetyFolderOf(point.Base.Key), asked.Point.Folder+madeOf(point))
	return series
}

// fileSource is the file of a snapshot.
type fileSource string

// Snapshot opens the file.
func (f fileSource) Snapshot(context.Context) (io.ReadCloser, int64, error) {
	file, err := os.Open(string(f))
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// describe returns what a dry run proves: the base, with the revision and the keys after the replay.
func describe(ctx context.Context, namespace string, base source.Proven) (source.Proven, error) {
	info, err := dbcheck.Inspect(ctx, namespace, base.File)
	if err != nil {
		return source.Proven{}, err
	}
	base.Snapshot.Revision, base.Snapshot.Keys = info.Revision, info.Keys
	return base, nil
}

func statusOf(point source.Point, result replay.Result) *v1beta2.PointInTimeStatus {
	status := &v1beta2.PointInTimeStatus{
		Revision: point.Reached.Revision, Timeline: int64(point.Timeline), Base: point.Base.Bucket + "/" + point.Base.Key,
		Segments: int32(len(point.Links)), UnknownLeases: int32(result.Fallback), // both are limited
		ResolutionMilliseconds: point.Resolution.Round(time.Millisecond).Milliseconds(),
	}
	if !point.Reached.At.IsZero() {
		at := metav1.NewTime(point.Reached.At).Rfc3339Copy()
		status.Time = &at
	}
	return status
}

// stages add up the bytes of the three parts: the base, the segments, and the result.
type stages struct {
	report source.Progress
	sizes  [3]int64
}

// of returns the progress of one part.
func (s stages) of(part int) source.Progress {
	if s.report == nil {
		return func(int64, int64) {}
	}
	before, total := int64(0), int64(0)
	for i, size := range s.sizes {
		total += size
		if i < part {
			before += size
		}
	}
	return func(bytes, _ int64) { s.report(before+min(bytes, s.sizes[part]), total) }
}
