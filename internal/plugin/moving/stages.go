package moving

import "github.com/etcd-suite/etcd-operator/api/v1beta2"

// Objects are those of a migration; nil for each that does not exist.
type Objects struct {
	Backup  *v1beta2.EtcdBackup
	Restore *v1beta2.EtcdRestore
	Cluster *v1beta2.EtcdCluster
}

// Stage is how far a migration is.
type Stage int

// The stages, in their order.
const (
	// Unarchived is before the archive has the source.
	Unarchived Stage = iota
	// Archived is when the standby can be created.
	Archived
	// Following is while the standby reads what the archive has.
	Following
	// Ready is when the standby is a few seconds behind the archive, so that the clients can be handed over.
	Ready
	// HandingOver is from when the source was asked to stop its writes.
	HandingOver
	// Starting is from when the standby has taken over. There is no way back.
	Starting
	// Serving is when the new cluster takes requests, and grows to its size.
	Serving
	// Complete is when the new cluster has its size.
	Complete
)

// Progress is how far a migration is, in one line. Problem is what keeps it from the next stage, if a person must act; it is Final if no operator tries again.
type Progress struct {
	Stage   Stage
	Line    string
	Problem string
	Final   bool
}
