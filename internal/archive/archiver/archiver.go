// Package archiver archives every revision of one etcd cluster: one watch on all keys, a spool on disk, and one object in
// the store for each segment.
//
// Nothing that is not in the store survives an archiver. A killed one loses its spool, and the next one reads the same
// events from etcd again, from where the chain in the store ends.
package archiver

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Head identifies a state of a cluster.
type Head struct {
	ClusterID uint64
	Revision  int64
}

// Response is a message of a watch.
type Response struct {
	Head   Head
	Events []*mvccpb.Event
	// More means that the last revision may continue in the next response.
	More bool
	// Compacted is not 0 if etcd has cancelled the watch because it needs revisions before that one.
	Compacted int64
	// Release returns the memory of the events to what all archivers of the process share. It is nil if the events do not count there.
	Release func()
}

func (r Response) release() {
	if r.Release != nil {
		r.Release()
	}
}

// Stream is an open watch.
type Stream interface {
	Receive() (Response, error)
}

// ErrRefused means that etcd answers only users with a certain right. So its authentication is on.
var ErrRefused = errors.New("etcd refuses the request, so its authentication is on")

// ErrOtherCluster means that a request was answered by another cluster than the one that is archived, for example behind the address of a load balancer.
var ErrOtherCluster = errors.New("another cluster has answered")

// ErrNoLease means that a lease does not exist (any more).
var ErrNoLease = errors.New("the lease does not exist")

// Cluster is the etcd cluster to archive.
type Cluster interface {
	// Head is linearizable.
	Head(ctx context.Context) (Head, error)
	// Watch watches all keys from a revision until ctx ends.
	Watch(ctx context.Context, from int64) (Stream, error)
	// TTL returns the granted TTL of a lease of a cluster in seconds, or ErrNoLease. The error is ErrOtherCluster if another cluster answers.
	TTL(ctx context.Context, clusterID uint64, lease int64) (int64, error)
	// Auth is linearizable. The error is ErrRefused if etcd answers only users, so that authentication is on, and ErrOtherCluster if another cluster answers.
	Auth(ctx context.Context, clusterID uint64) (auth.State, error)
}

// Base is a snapshot that was taken on demand.
type Base struct {
	Key       string
	ClusterID uint64
	// Revision in the snapshot's database, and a time before which it was written.
	Revision int64
	At       time.Time
	// Auth is the state of authentication in the snapshot's database.
	Auth auth.State
}

func (b Base) archived() archive.Base {
	return archive.Base{Key: b.Key, Point: archive.Point{Revision: b.Revision, At: b.At.UTC()}, Auth: b.Auth}
}

// Options of an archiver.
type Options struct {
	Cluster Cluster
	Store   objstore.Store
	// Root is the prefix of all keys, see archive.Root.
	Root string
	// Dir is a directory for the spool that only this archiver uses. Run empties it.
	Dir string
	// Writer is recorded in the timelines that this archiver begins.
	Writer string
	// Recovery identifies the last recovery of the cluster from a lost quorum. It is empty if there was none, or if that is not known. A
	// recovery keeps the cluster ID, and the recovered cluster may have other changes at the same revisions.
	Recovery string
	// Hurry is closed when the archiver has to end soon, whatever waits for the store. See ErrRecovery.
	Hurry <-chan struct{}
	// SameHistory fails if the cluster was recovered from a lost quorum since the archiver was started, or if that is not known. Then its
	// members may not have what waits for the store, although they have as many revisions. It may be nil.
	SameHistory func(ctx context.Context) error
	// Encoder of segments.
	Encoder codec.Encoder
	// MaxLag is the age at which a segment is uploaded. Default: 5 seconds.
	MaxLag time.Duration
	// MaxSilence is how long a watch may return nothing although the cluster has newer revisions. Default: 30 seconds.
	MaxSilence time.Duration
	// MaxSize in bytes at which a segment is uploaded sooner. Default: 8 MiB. One revision is never divided.
	MaxSize int64
	// MaxSpool in bytes that may wait for the store. Then the watch stops until the store accepts a segment. Default: 256 MiB.
	MaxSpool int64
	// Grow makes room for files of that many bytes in Dir, of which some are written, or returns why there is none. With fewer bytes than before,
	// it returns the rest. It may be nil.
	Grow func(bytes, written int64) error
	// Memory is shared with other archivers. It may be nil.
	Memory Memory
	// TakeBase takes a snapshot now. It is called at the start of a timeline, after lost events, and after a change of users,
	// roles or authentication. Two calls may overlap. Each cause has its own reason, so a snapshot that was taken for an equal one will do.
	TakeBase func(ctx context.Context, reason string) (Base, error)
	// BaseOwed means that an archiver before this one has failed to take a base after a change of users, roles or authentication, see Status.
	BaseOwed bool
	// Fence returns the last revision of a cluster that refuses all writes, and 0 if it accepts them. The segment that ends with that revision is sealed
	// at once. It may be nil.
	Fence func() int64
	// Stored is called after each segment that is stored. It must not wait. It may be nil.
	Stored func()
	// Now is the clock.
	Now func() time.Time
	// RetryMin and RetryMax bound the time between two attempts to store a segment. Defaults: 200ms and 10s.
	RetryMin, RetryMax time.Duration
}

func (o Options) withDefaults() Options {
	o.MaxLag = cmp.Or(o.MaxLag, 5*time.Second)
	o.MaxSilence = cmp.Or(o.MaxSilence, 30*time.Second)
	o.MaxSize = cmp.Or(o.MaxSize, 8<<20)
	o.MaxSpool = cmp.Or(o.MaxSpool, 256<<20)
	o.RetryMin = cmp.Or(o.RetryMin, 200*time.Millisecond)
	o.RetryMax = cmp.Or(o.RetryMax, 10*time.Second)
	if o.Memory == nil {
		o.Memory = alone{}
	}
	return o
}

// The reasons for a base.
const (
	reasonFirst     = "the archive begins"
	reasonCluster   = "the cluster has another ID: it was restored or recreated"
	reasonRecovery  = "the cluster was recovered from a lost quorum"
	reasonForgotten = "the recovery from a lost quorum that the timeline before names is not known any more"
	reasonBehind    = "the cluster has fewer revisions than the archive: it was recovered from older data"
	reasonDiverged  = "the newest archived revision has other events in the cluster: it was recovered from other data"
	reasonPartly    = "etcd has compacted a part of the newest archived revision, or the cluster was recovered from other data"
	reasonNoStart   = "the timeline before has no start object"
	reasonUnread    = "the store does not return an object at the end of the timeline before"
	reasonAuth      = "users, roles or authentication have changed"
)

// ErrFenced means that another archiver has extended the chain. What this one had spooled is in etcd, or the other has it.
var ErrFenced = errors.New("another archiver has extended this timeline")

// errAgain ends a run that has changed the archive, so that the next one begins with what the store has.
var errAgain = errors.New("resume from the store")

// Status is what an archiver knows. It is a copy.
type Status struct {
	Timeline archive.Timeline
	// Stored is the last point in the store: nothing up to there can be lost.
	Stored archive.Point
	// Progress is the last point at which etcd had no more events than Stored has.
	Progress archive.Point
	// Safe is a time by the clock of this process: what etcd had acknowledged by then is stored. The times of points are those of the
	// archive, which may come from a clock that was ahead.
	Safe time.Time
	// Head is the last revision of the cluster that was read. A member may return it later.
	Head int64
	// Received is the last complete revision in the spool.
	Received archive.Point
	// Unbroken is that of the end of the chain in the store, see archive.Header.
	Unbroken int64
	// Blocked means that nothing is archived until a base snapshot was taken.
	Blocked bool
	// Auth is the state of authentication that the archive has at its end. BaseOwed means that it has no base with that state yet.
	Auth     auth.State
	BaseOwed bool
	// Segments and Gaps that this archiver has stored, and the size of the segments' objects in bytes.
	Segments, Gaps, Bytes int64
	// Spooled bytes that wait for the store, and the error of its last attempt; nil after a success.
	Spooled    int64
	StoreError error
	// UnknownLeases had no TTL any more when it was read.
	UnknownLeases int64
}

// Lag is the age of the last time up to which all is in the store, if there are events after it; otherwise it is 0. So no
// lost event would be older.
func (s Status) Lag(now time.Time) time.Duration {
	if max(s.Received.Revision, s.Head) <= s.Stored.Revision {
		return 0
	}
	return max(now.Sub(s.Safe), 0)
}

// sight is a revision of the cluster, read linearizably: when all revisions up to it are stored, nothing that was acknowledged before that
// time can be lost. A watch does not tell that, because its member may be behind the others.
type sight struct {
	revision int64
	at       time.Time
	auth     auth.State // at that time or later
	err      error      // what ends the session: reading it panicked
}

// Archiver archives one cluster. Only one Run may be under way.
type Archiver struct {
	Options
	clusterID uint64
	compacted int64 // the newest known compact revision
	began     sight // of the cluster when the run began

	mu     sync.Mutex
	status Status
	sights []sight // that are not stored yet, oldest first
}

// Status may be called at any time.
func (a *Archiver) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status
}

func (a *Archiver) update(change func(*Status)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.status)
}

func ignoreEnd(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
