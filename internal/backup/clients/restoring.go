package clients

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// An EtcdRestore may wait for a long time before it reads its snapshot, and after it has verified that: the first member reads the snapshot once
// more. So the snapshot of an EtcdRestore that has not ended is not deleted. Only those in the same namespace are known.

// restoring returns which of the EtcdRestores need an object, and for what. The path of the object is in the status after it was verified, and before that the spec
// may name it, as a path, a key or the last part of a key.
func restoring(restores []v1beta2.EtcdRestore) map[string]string {
	needed := map[string]string{}
	for i := range restores {
		if snapshot := neededBy(&restores[i]); snapshot != "" {
			needed[snapshot] = restores[i].Name + " restores it"
		}
	}
	return needed
}

// neededBy returns what an EtcdRestore calls its snapshot. It is empty if it has not chosen one yet.
func neededBy(r *v1beta2.EtcdRestore) string {
	from := r.Status.Source
	if keys := r.Status.Prefixes; from == nil && keys != nil {
		from = keys.Source
	}
	switch spec := r.Spec; {
	case from != nil:
		return from.Bucket + "/" + from.Key
	case spec.EtcdBackup != nil:
		return spec.EtcdBackup.Snapshot
	case spec.Select == nil:
		named, _ := storage.Spec{Type: spec.BackupStorageType, Block: spec.Storage}.Location() // one that is invalid is empty
		return strings.TrimPrefix(named.Path(), "/")
	}
	return ""
}

// calls reports whether a name, as neededBy returns it, is that of the snapshot to which an object belongs.
func calls(snapshot, bucket, name string) bool {
	for _, object := range []string{bucket + "/" + name, name, path.Base(name)} {
		if object == snapshot || strings.HasPrefix(object, snapshot+".") {
			return true
		}
	}
	return false
}

// snapshotsOf returns what may be a key of a snapshot to which one of the objects belongs.
func snapshotsOf(objects []string) map[string]bool {
	keys := make(map[string]bool, len(objects))
	for _, object := range objects {
		keys[object] = true
		for i := range len(object) {
			if object[i] == '.' {
				keys[object[:i]] = true
			}
		}
	}
	return keys
}

// Unneeded returns the keys that may be deleted, and a sentence about the snapshots that an EtcdRestore needs. Nothing may be deleted if that
// cannot be read. all are the keys among which a restore selects. usable reports whether it would take a snapshot: others take the place of none that it would.
func (t *Clients) Unneeded(ctx context.Context, o state.JobSpec, keys, all []string, usable func(key string) bool) (free []string, why string, err error) {
	if len(keys) == 0 {
		return nil, "", nil
	}
	restores, err := t.restores(ctx, o.Namespace)
	if err != nil {
		return nil, "", failure.New(v1beta2.ReasonSnapshotsKept, fmt.Sprintf("No snapshot is deleted, because the operator cannot read which ones are being restored: %v.", err))
	}
	selections, err := t.selections(ctx, o, restores)
	if err != nil {
		return nil, "", failure.New(v1beta2.ReasonSnapshotsKept, fmt.Sprintf("No snapshot is deleted, because the operator cannot read which ones may be restored: %v.", err))
	}
	needed := restoring(restores)
	asked := snapshotsOf(keys)
	for _, names := range [][]string{keys, all} {
		taken := slices.DeleteFunc(slices.Clone(names), func(key string) bool { return !usable(key) })
		for _, s := range selections {
			for _, key := range slices.Concat(s.Choices(names), s.Choices(taken)) {
				if asked[key] { // others can write any number of names
					needed[o.Target.Bucket+"/"+key] = s.Restore + " may choose it"
				}
			}
		}
	}
	free = slices.DeleteFunc(slices.Clone(keys), func(name string) bool {
		for snapshot, restore := range needed {
			if calls(snapshot, o.Target.Bucket, name) {
				why = fmt.Sprintf("Snapshot %s is kept, because EtcdRestore %s.", strings.TrimPrefix(snapshot, o.Target.Bucket+"/"), restore)
				return true
			}
		}
		return false
	})
	return free, why, nil
}
