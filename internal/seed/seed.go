// Package seed is the contract of the init container that fills the first member of a restored cluster: its
// arguments, in both directions, where it finds credentials, and what its exit codes mean. cluster-operator
// writes the arguments and restore-operator's program reads them, so that neither imports the other.
package seed

import "github.com/etcd-suite/etcd-operator/api/v1beta2"

// Command is the subcommand of restore-operator that does the work; it is the first of Args.
const Command = "seed"

// CredentialsDir is where the Secret of Source.Secret is mounted in the init container, one file for each of its
// keys. Without a Secret nothing is mounted and the ambient identity is used.
const CredentialsDir = "/var/run/etcd-seed/credentials"

// SignedURLDir is where the Secret of Request.SignedURL is mounted in the init container. The kubelet replaces the files
// when the Secret changes, so they are read again for each request.
const SignedURLDir = "/var/run/etcd-seed/signed-url"

// VolumeDir is where the volume of Request.Volume is mounted, for reading only.
const VolumeDir = "/var/run/etcd-seed/volume"

// PodDir is where the init container of a standby reads the annotations of its Pod, one file for each. The kubelet replaces the files when an
// annotation changes.
const PodDir = "/var/run/etcd-seed/pod"

// PromoteFile is the file in PodDir that has the annotation AnnotationPromote. It is empty until a person has asked for the promotion.
const PromoteFile = "promote"

// AnnotationPromote is set on the Pod of a standby when it is to become the cluster. Its value is a Promotion.
const AnnotationPromote = v1beta2.Group + "/promote"

// TerminationLog is where the one line that says why the seed failed is written: the default
// terminationMessagePath of a container, so that it shows as state.terminated.message.
const TerminationLog = "/dev/termination-log"

// EnvDataRequired is a variable of the init container that is empty until the seed is a member of the cluster and has started. From then on
// the seed may have acknowledged writes, so it is not restored again: without its data it must not run.
const EnvDataRequired = "MEMBER_DATA_REQUIRED"

// Exit codes of the init container.
const (
	// ExitDone: the data directory is complete.
	ExitDone = 0
	// ExitRetry: it failed in a way that may pass, such as a store that does not answer or a disk that is full.
	ExitRetry = 1
	// ExitNever: it can never work: the arguments are wrong, or the object is gone or is not what was proven.
	ExitNever = 3
)

// Request is what the seed is asked to do.
type Request struct {
	// Source is the proven object.
	Source v1beta2.RestoreSource
	// SignedURL is the name of the Secret with a signed URL of the object. If it is empty, the seed opens the store.
	SignedURL string
	// SHA256 of the object, 64 hex digits.
	SHA256 string
	// Size of the object in bytes.
	Size int64
	// PlainSize is that of the snapshot inside of a compressed or encrypted object; 0 where it is the object.
	PlainSize int64
	// Revision that the snapshot holds; 0 where no key was ever written.
	Revision int64

	// Follow is the archive that the seed follows until it is promoted. It is empty for a restore.
	Follow Follow

	// Volume has the data directory that is restored in place of Source. It is empty for a snapshot.
	Volume Volume

	// DataDir is etcd's data directory. It is a directory inside the volume and never the mount point itself,
	// because it is put in place by one rename.
	DataDir string
	// Name of the member.
	Name string
	// PeerURL of the member, the only one of the initial cluster.
	PeerURL string
	// Token of the initial cluster.
	Token string
	// RevisionBump is added to the revision, and everything before is marked compacted. 0 turns both off.
	RevisionBump int64
}

// Follow names the cluster whose continuous archive is followed. Request.Source is then the folder of its snapshots, and Request.SHA256, Size, PlainSize and
// Revision are those of the base that restore-operator has verified. The seed begins with the newest one, which may be a later one.
type Follow struct {
	// Cluster is the namespace and the name of the source, as "<namespace>/<name>".
	Cluster string
	// UID of the EtcdCluster that was archived, and ClusterID of its etcd. Snapshots of another one with the same name are not followed. They are
	// empty if they are not known.
	UID, ClusterID string
	// Only is the cluster ID that the user has chosen; empty for any of the cluster.
	Only string
	// As is the EtcdRestore of the standby, as "<namespace>/<name>". A planned promotion names it in the store.
	As string
}

// Volume names the data directory of an etcd on a volume at VolumeDir.
type Volume struct {
	// Claim is the name of its PersistentVolumeClaim.
	Claim string
	// Path is the folder on it; empty for the whole volume.
	Path string
	// EtcdVersion is the version that the restored cluster runs.
	EtcdVersion string
}

// Plain is the size of the snapshot in bytes, whatever it is wrapped in.
func (r Request) Plain() int64 {
	if r.PlainSize > 0 {
		return r.PlainSize
	}
	return r.Size
}
