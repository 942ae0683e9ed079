package clients

import (
	"context"
	"fmt"
	"maps"
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

// called returns what an EtcdRestore may call the snapshot to which an object belongs, as neededBy returns it.
func called(bucket, object string) []string {
	var names []string
	for _, key := range snapshotsOf(object) {
		names = append(names, bucket+"/"+key, key, path.Base(key))
	}
	return names
}

// snapshotsOf returns what may be the key of the snapshot to which an object belongs.
func snapshotsOf(object string) []string {
	keys := []string{object}
	for end := strings.LastIndexByte(object, '/') + 1; end < len(object); end++ {
		if object[end] == '.' {
			keys = append(keys, object[:end])
		}
	}
	return keys
}

// Needs is what the EtcdRestores of a namespace need that have not ended.
type Needs struct {
	named      map[string]string // what they call a snapshot, and for what
	selections []Selection       // in the order of the names of the EtcdRestores
}

// Equal reports whether the same EtcdRestores need the same.
func (n Needs) Equal(other Needs) bool {
	return maps.Equal(n.named, other.named) && slices.EqualFunc(n.selections, other.selections, Selection.Equal)
}

// Needs reads what EtcdRestores need of the folder of an EtcdBackup. With an error, nothing may be deleted.
func (t *Clients) Needs(ctx context.Context, o state.JobSpec) (Needs, error) {
	restores, err := t.restores(ctx, o.Namespace)
	if err != nil {
		return Needs{}, failure.New(v1beta2.ReasonSnapshotsKept, fmt.Sprintf("No snapshot is deleted, because the operator cannot read which ones are being restored: %v.", err))
	}
	selections, err := t.selections(ctx, o, restores)
	if err != nil {
		return Needs{}, failure.New(v1beta2.ReasonSnapshotsKept, fmt.Sprintf("No snapshot is deleted, because the operator cannot read which ones may be restored: %v.", err))
	}
	slices.SortFunc(selections, func(a, b Selection) int { return strings.Compare(a.Restore, b.Restore) })
	return Needs{restoring(restores), selections}, nil
}

// Unneeded returns the keys that may be deleted, and a sentence about the snapshots that an EtcdRestore needs. all are the keys among which a restore
// selects. usable reports whether it would take a snapshot: others take the place of none that it would.
func (n Needs) Unneeded(ctx context.Context, bucket string, keys, all []string, usable func(key string) bool) (free []string, why string, err error) {
	needed := map[string]string{}
	maps.Copy(needed, n.named)
	if err := choose(ctx, bucket, needed, n.selections, keys, all, usable); err != nil {
		return nil, "", err
	}
	free = slices.DeleteFunc(slices.Clone(keys), func(name string) bool {
		for _, snapshot := range called(bucket, name) {
			if restore := needed[snapshot]; restore != "" {
				why = fmt.Sprintf("Snapshot %s is kept, because EtcdRestore %s.", strings.TrimPrefix(snapshot, bucket+"/"), restore)
				return true
			}
		}
		return false
	})
	return free, why, nil
}

// choose adds which of the keys the selections may choose, among these and among all. A tenant decides how many selections and names there are, so it ends
// with its context.
func choose(ctx context.Context, bucket string, needed map[string]string, selections []Selection, keys, all []string, usable func(key string) bool) error {
	asked := make(map[string]bool, len(keys))
	for _, object := range keys {
		for _, key := range snapshotsOf(object) {
			asked[key] = true
		}
	}
	for _, names := range [][]string{keys, all} {
		among := Candidates(names)
		taken := slices.DeleteFunc(slices.Clone(among), func(c Candidate) bool { return !usable(c.name) })
		for _, s := range selections {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			chosen := s.Choices(among)
			if len(taken) < len(among) {
				chosen = append(chosen, s.Choices(taken)...)
			}
			for _, key := range chosen {
				if asked[key] { // others can write any number of names
					needed[bucket+"/"+key] = s.Restore + " may choose it"
				}
			}
		}
	}
	return nil
}
