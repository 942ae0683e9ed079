package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Owner says whose snapshots are meant: those of one cluster, one EtcdBackup, or both. An empty field admits any.
type Owner struct {
	Namespace, Cluster string
	ClusterID          string // of etcd, 16 hex digits
	// ClusterUID is that of the EtcdCluster, and ClusterSince is when it was created.
	ClusterUID   string
	ClusterSince time.Time
	// Backup is the name of the EtcdBackup, BackupUID its UID, and BackupSince when it was created.
	Backup, BackupUID string
	BackupSince       time.Time
}

// Claim is what an Owner may do with a snapshot.
type Claim int

const (
	// Own means that the snapshot is the owner's: it is selected, counted, copied, tested and deleted.
	Own Claim = iota
	// Other means that the snapshot is of another cluster or EtcdBackup, which may share the folder.
	Other
	// Twin means that the snapshot is of a cluster and an EtcdBackup with the same names in another Kubernetes.
	Twin
	// Contradictory means that key and manifest name different clusters, so that nobody may do anything with the snapshot.
	Contradictory
)

// Foreign reports whether the snapshot is one that should not be in the folder.
func (c Claim) Foreign() bool { return c == Twin || c == Contradictory }

// Compare compares the owner with the key and the manifest of a snapshot. It is the only comparison of this kind: whatever selects,
// counts, copies, tests or deletes a snapshot asks it first.
//
// An EtcdBackup or EtcdCluster may be created again, or restored with its Kubernetes, and then has another UID. Snapshots from before
// that are still the owner's. Only one that was taken later must be from another Kubernetes.
func (o Owner) Compare(key string, m Manifest) Claim {
	c := m.Cluster
	named, inSeries := ParseKey(key)
	switch {
	case inSeries && !named.is(c):
		return Contradictory
	case o.Namespace != "" && o.Namespace != c.Namespace, o.Cluster != "" && o.Cluster != c.Name, o.ClusterID != "" && o.ClusterID != c.ID:
		return Other
	case o.Backup != "" && m.Backup != "" && o.Backup != m.Backup:
		return Other
	case twin(o.BackupUID, m.Writer(), o.BackupSince, m.CreatedAt), twin(o.ClusterUID, c.UID, o.ClusterSince, m.CreatedAt):
		return Twin
	}
	return Own
}

// OfCluster reports whether a snapshot is of the owner's cluster, whichever EtcdBackup it was taken for.
func (o Owner) OfCluster(key string, m Manifest) bool {
	cluster := o
	cluster.Backup, cluster.BackupUID = "", ""
	return !o.Compare(key, m).Foreign() && cluster.Compare(key, m) == Own
}

// Agrees reports whether a key and a manifest name the same cluster. A key that is not one of a series names none.
func Agrees(key string, m Manifest) bool { return Owner{}.Compare(key, m) != Contradictory }

// is reports whether the series is of a cluster.
func (s Series) is(c Cluster) bool {
	return s.Namespace == c.Namespace && s.Cluster == c.Name && s.ID() == c.ID
}

// ID returns the cluster ID as manifests have it.
func (s Series) ID() string { return fmt.Sprintf("%016x", s.ClusterID) }

// Writer returns the UID of the EtcdBackup that the snapshot was taken for; empty if it is not known.
func (m Manifest) Writer() string {
	uid, _, found := strings.Cut(m.Attempt, "/")
	if !found {
		return ""
	}
	return uid
}

// twin reports whether a snapshot with another UID was taken after the object with this UID was created.
func twin(own, other string, since, created time.Time) bool {
	return own != "" && other != "" && own != other && !since.IsZero() && created.After(since.Add(Skew))
}

// Skew is the largest difference between two clocks that is normal. A snapshot with a later time is from the future.
const Skew = time.Minute

// Replaced reports whether an object is another one than the EtcdBackup recorded in its status. A user who can write to the bucket can
// replace an object together with its manifest, but cannot write the status. What is no whole SHA-256 says nothing about an object.
func Replaced(recorded, found string) bool {
	return len(recorded) == hex.EncodedLen(sha256.Size) && found != "" && recorded != found
}
