package backup

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// Archive is what the archiver of this process reports about one EtcdBackup.
type Archive struct {
	// Begun is true once the archiver has found where the archive ends, and watches the cluster. Idle is since when it is not true; zero
	// while it is.
	Begun bool
	Idle  time.Time
	// Want is why a base snapshot is needed now. It is empty if none is.
	Want string
	// Ranges that can be restored. Surveyed is false until they are known.
	Ranges   []archive.Range
	Surveyed bool
	// Covered is false if no base reaches the newest revision.
	Covered bool
	// Delayed is how old the oldest change may be that is not in the store. It is 0 if that is not longer than it should be.
	// StoreError is why.
	Delayed    time.Duration
	StoreError string
	// Replace is when the operator replaces the newest snapshot, because it failed its restore test; zero if it did not.
	Replace time.Time
	// Failures in a row, the last one, and when the archiver starts again. Failure is nil while the archiver runs.
	Failures int32
	Failure  *Failure
	RetryAt  time.Time
	// Unread is why the last look at the archive failed. It is empty if that succeeded.
	Unread string
	// Unpruned is why old parts of the archive were not deleted. Advice is about the version of etcd.
	Unpruned, Advice string
	// Corrupt is true if Unread names a damaged or missing object, so that Ranges may be wrong.
	Corrupt bool
	// Holes names the parts of the archive that cannot be restored although they were archived. Ranges has none of them.
	Holes string
	// Proof is the last proof that the store has: one that has failed, or else the newest one. It is nil if there is none.
	Proof *v1beta2.ArchiveProof
}

// archiveSpec is what an archiver is started with.
type archiveSpec struct {
	job    jobSpec
	maxLag time.Duration
	// endpoints of the spec: other ones may be of another cluster. The members of an EtcdCluster are replaced one by one, and their archiver
	// goes on.
	endpoints []string
	// recovery is the last one of the cluster from a lost quorum. After another one the archiver begins a timeline.
	recovery string
}

// archiveRoot is the prefix of all keys of the archive.
func (o jobSpec) archiveRoot() string { return archive.Root(o.Target.Key, o.Namespace, o.Cluster) }

// archived returns whether an archiver is to run.
func (s State) archived() bool { return s.archivesCluster() && !s.recovering() }

// archivesCluster is archived, whether or not the cluster is being recovered from a lost quorum.
func (s State) archivesCluster() bool {
	switch {
	case s.Spec.Continuous == nil || !s.Series() || s.Problem != nil || s.Refused != nil || s.Deleting || s.Spec.BackupPolicy.Suspend:
		return false
	case s.Spec.DeletionPolicy == v1beta2.DeletionDelete && !s.Held:
		return false // nothing is written that the finalizer would protect
	case s.Spec.EtcdCluster != nil:
		return s.Cluster != nil && len(s.Cluster.ClientURLs) > 0 && !s.Cluster.Hibernated
	}
	return true
}

// recovering reports whether the archiver rests only because its cluster is recovered from a lost quorum.
func (s State) recovering() bool {
	return s.archivesCluster() && s.Cluster != nil && s.Cluster.Recovering
}

// archiveOf returns what an archiver is started with, and nil if none is to run.
func archiveOf(s State) *archiveSpec {
	if !s.archived() {
		return nil
	}
	o := jobSpecOf(s)
	o.Request, o.Base = "", ""
	spec := &archiveSpec{job: o, maxLag: maxLag(s.Spec.Continuous), endpoints: s.Spec.EtcdEndpoints}
	if s.Cluster != nil {
		spec.recovery = s.Cluster.Recovery
	}
	return spec
}

// baseWanted returns whether the archiver needs a snapshot now.
func (s State) baseWanted() bool { return s.Archive != nil && s.Archive.Want != "" && s.archived() }

// rejudged returns whether a restore test has found a bad snapshot, or a good one after a bad one. Then the archive has other bases.
func (s State) rejudged(drill *v1beta2.BackupDrill) bool {
	before := s.Status.LastDrill
	switch {
	case drill == nil:
		return false
	case before == nil:
		return drill.Result == v1beta2.DrillFailed
	case drill.Result == v1beta2.DrillFailed:
		return before.Result != drill.Result || before.Path != drill.Path
	}
	return before.Result == v1beta2.DrillFailed
}

// everArchived returns whether there may be an archive in the store.
func (s State) everArchived() bool {
	return s.Spec.Continuous != nil || conditionOf(s.Status.Conditions, v1beta2.ConditionArchiving) != nil
}

func maxLag(c *v1beta2.ContinuousArchive) time.Duration {
	return durationOr(c.MaxLag, v1beta2.DefaultMaxLag)
}

// archiveWindow is 0 without a continuous archive.
func archiveWindow(c *v1beta2.ContinuousArchive) time.Duration {
	if c == nil {
		return 0
	}
	return durationOr(c.Window, v1beta2.DefaultWindow)
}

// durationOr parses a duration that the API server has checked.
func durationOr(text, otherwise string) time.Duration {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d
	}
	d, _ := time.ParseDuration(otherwise)
	return d
}

const (
	firstArchiveDelay = time.Second
	lastArchiveDelay  = time.Minute
	membersDelay      = 5 * time.Second
	// archiveStable is how long an archiver must run before an earlier failure does not count any more.
	archiveStable = time.Minute
	// archiveTolerated is the number of failures in a row that are reported. One failure is usual when members restart.
	archiveTolerated = 2
	// archivePatience is how long an archiver may not archive before that is reported, however few failures it had.
	archivePatience = time.Minute
	// archiveSlack is how much later than maxLag a change may reach the store before that is reported.
	archiveSlack = 15 * time.Second
)

// archiveDelay is the pause after that many failures in a row: 1 s, doubled after each one, at most 1 min. If the members are why, it is
// at most maxLag or 5 s: what they accept when they are back must not wait for longer.
func archiveDelay(failures int32, err error, maxLag time.Duration) time.Duration {
	limit := lastArchiveDelay
	if errors.Is(err, errMembers) {
		limit = min(max(maxLag, membersDelay), lastArchiveDelay)
	}
	d := firstArchiveDelay
	for ; failures > 1 && d < limit; failures-- {
		d *= 2
	}
	return min(d, limit)
}

// sameArchive reports whether an archiver can go on with another spec.
func sameArchive(a, b archiveSpec) bool {
	return a.maxLag == b.maxLag && a.recovery == b.recovery && slices.Equal(a.endpoints, b.endpoints) && a.job.Cluster == b.job.Cluster && a.job.TLSSecret == b.job.TLSSecret && a.job.AuthSecret == b.job.AuthSecret &&
		reflect.DeepEqual(a.job.Target, b.job.Target) && reflect.DeepEqual(a.job.Encoder, b.job.Encoder)
}
