package steps

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// Proved ends a dry run whose snapshot is verified. The status gets the snapshot and no source: without a source no version
// of cluster-operator begins a restore.
type Proved struct {
	ChosenBecause string
	Snapshot      v1beta2.Snapshot
	Point         *v1beta2.PointInTimeStatus
	Keys          *v1beta2.PrefixesStatus
}

func (p Proved) Describe(s state.State) planning.Description {
	name := s.Restore.Spec.EtcdCluster.Name
	message := fmt.Sprintf("Snapshot %s can be restored: revision %d, %d keys, %d bytes. It fits EtcdCluster %s. This was a dry run, and nothing was changed.",
		p.Snapshot.Path, p.Snapshot.Revision, p.Snapshot.Keys, p.Snapshot.Size, name)
	if s.Cluster == nil {
		message = fmt.Sprintf("Snapshot %s can be restored: revision %d, %d keys, %d bytes. There is no EtcdCluster %s, so its version and its volumes were not checked. This was a dry run, and nothing was changed.",
			p.Snapshot.Path, p.Snapshot.Revision, p.Snapshot.Keys, p.Snapshot.Size, name)
	}
	if p.Keys != nil {
		message = planning.Shorten(fmt.Sprintf("The keys of snapshot %s below %s can be restored into EtcdCluster %s: %s. This was a dry run, and nothing was changed. The first keys: %s.",
			p.Snapshot.Path, s.Prefixes(), name, state.Differences(*p.Keys), strings.Join(p.Keys.First, ", ")), planning.MaxNote)
	}
	return announced(s, corev1.EventTypeNormal, planning.Description{Reason: v1beta2.ReasonDryRun, Message: message})
}

// Interrupted waits until At after an attempt that ended with the operator, because the snapshot may be why it ended.
type Interrupted struct{ At time.Time }

func (i Interrupted) Describe(s state.State) planning.Description {
	if s.OfPrefixes() && s.Proven() {
		return announced(s, corev1.EventTypeWarning, planning.Description{
			Reason: v1beta2.ReasonRetrying,
			Message: fmt.Sprintf("restore-operator ended while it wrote keys, at attempt %d. Those that are written are as they are in the snapshot. The next attempt is at %s.",
				s.Restore.Status.Attempts, i.At.UTC().Format(time.RFC3339)),
			Requeue: i.At.Sub(s.Now),
		})
	}
	return announced(s, corev1.EventTypeWarning, planning.Description{
		Reason: v1beta2.ReasonRetrying,
		Message: fmt.Sprintf("restore-operator ended during attempt %d to read the snapshot. The cluster was not changed. The next attempt is at %s.",
			s.Restore.Status.Attempts, i.At.UTC().Format(time.RFC3339)),
		Requeue: i.At.Sub(s.Now),
	})
}

type (
	// Verify starts to read the source, or the snapshot below it that Choice selects.
	Verify struct {
		Source v1beta2.RestoreSource
		Choice source.Choice
		// Signers, of which one must have signed the snapshot.
		Signers snapshot.Signers
		// Point is what else is needed for a point of a continuous archive. It is nil for a snapshot.
		Point *state.PointOrder
		// Keys to compare with the snapshot. It is nil if the whole cluster is restored.
		Keys *state.KeysOrder
	}
	// Verifying lets the reading of the source continue. Queued is true if it has not begun, because the operator reads other
	// snapshots. Waits is for what it waits, and why.
	Verifying struct {
		Percent int32
		Queued  bool
		Waits   string
	}
	// Accept stores the verified snapshot in the status. From then on cluster-operator may restore it.
	Accept struct {
		Source v1beta2.RestoreSource
		// ChosenBecause explains why this snapshot was chosen. It is empty if the spec names the snapshot.
		ChosenBecause string
		Snapshot      v1beta2.Snapshot
		// Point is what Snapshot was made of. It is nil for a snapshot of a cluster.
		Point *v1beta2.PointInTimeStatus
		// SignedURL is how the seed reads Source. It is nil if the seed opens the store with the same Secret.
		SignedURL *v1beta2.SignedURLStatus
		// Keys is the comparison of the keys below prefixes. It is nil if the whole cluster is restored.
		Keys *v1beta2.PrefixesStatus
		// Follow is the archive that a standby follows. It is nil for any other restore.
		Follow *v1beta2.RestoreFollowStatus
		// Volume is what the seed reads in place of a snapshot. The other fields are empty then.
		Volume *v1beta2.RestoreVolumeStatus
	}
)

func (Verify) Describe(s state.State) planning.Description {
	return reading(s, s.Restore.Status.Attempts+1)
}

func (v Verifying) Describe(s state.State) planning.Description {
	d := reading(s, s.Restore.Status.Attempts)
	first := !s.Retries(s.Restore.Status.Attempts)
	switch {
	case v.Queued && first:
		d.Reason, d.Message = v1beta2.ReasonQueued, fmt.Sprintf(queuedForReading, cmp.Or(v.Waits, "namespaces take turns"))
	case v.Waits != "" && first:
		d.Reason, d.Message = v1beta2.ReasonQueued, "The operator waits for "+v.Waits+". It does not change the cluster."
	}
	if v.Queued {
		d.Requeue = time.Minute // the worker that begins to read starts a pass
	}
	return d
}

func (a Accept) Describe(s state.State) planning.Description {
	if a.Keys != nil {
		return announced(s, corev1.EventTypeNormal, planning.Description{
			Reason:  v1beta2.ReasonVerified,
			Message: fmt.Sprintf("The snapshot is verified. Its keys below %s are compared with EtcdCluster %s: %s.", s.Prefixes(), s.Restore.Spec.EtcdCluster.Name, state.Differences(*a.Keys)),
		})
	}
	if a.Volume != nil {
		return announced(s, corev1.EventTypeNormal, planning.Description{
			Reason: v1beta2.ReasonVerified,
			Message: "No Pod uses PersistentVolumeClaim " + a.Volume.ClaimName + ". The first member of EtcdCluster " + s.Restore.Spec.EtcdCluster.Name +
				" reads and verifies the data directory on it, before anything of the cluster is stopped.",
		})
	}
	if a.Follow != nil {
		return announced(s, corev1.EventTypeNormal, planning.Description{
			Reason:  v1beta2.ReasonVerified,
			Message: "The snapshot is verified. EtcdCluster " + s.Restore.Spec.EtcdCluster.Name + " can begin with it, and follow the continuous archive of " + a.Follow.Cluster + ".",
		})
	}
	return announced(s, corev1.EventTypeNormal, planning.Description{
		Reason:  v1beta2.ReasonVerified,
		Message: "The snapshot is verified. EtcdCluster " + s.Restore.Spec.EtcdCluster.Name + " can be restored from it.",
	})
}
