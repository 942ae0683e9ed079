package state

import "k8s.io/apimachinery/pkg/types"

// Volume is a PersistentVolumeClaim with the data directory of an etcd.
type Volume struct {
	// UID of the claim; empty if it does not exist.
	UID types.UID
	// Size in bytes, of the volume or as it was asked for.
	Size int64
	// Deleting: the claim is being deleted. Lost: its volume does not exist any more.
	Deleting, Lost bool
	// MemberOf is the EtcdCluster of whose member this is the volume, and UsedBy a Pod that uses it; empty for none.
	MemberOf, UsedBy string
}
