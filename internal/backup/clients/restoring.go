package clients

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// An EtcdRestore that has verified its snapshot may wait for a long time, and the first member reads the snapshot once more. So the snapshot of
// an EtcdRestore that has not ended is not deleted. Only those in the same namespace are known.

// restoring returns the EtcdRestores that need an object, by bucket and key.
func (t *Clients) restoring(ctx context.Context, namespace string) (map[string]string, error) {
	var list v1beta2.EtcdRestoreList
	if err := t.Secrets.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the EtcdRestores in namespace %s: %w", namespace, err)
	}
	needed := map[string]string{}
	for _, r := range list.Items {
		ended := meta.IsStatusConditionTrue(r.Status.Conditions, v1beta2.ConditionComplete) || meta.IsStatusConditionTrue(r.Status.Conditions, v1beta2.ConditionFailed)
		from := r.Status.Source
		if keys := r.Status.Prefixes; from == nil && keys != nil {
			from = keys.Source
		}
		if from != nil && !ended {
			needed[from.Bucket+"/"+from.Key] = r.Name
		}
	}
	return needed, nil
}

// Unneeded returns the keys that may be deleted, and a sentence about the snapshots that an EtcdRestore needs. Nothing may be deleted if that
// cannot be read.
func (t *Clients) Unneeded(ctx context.Context, o state.JobSpec, keys []string) (free []string, why string, err error) {
	if len(keys) == 0 {
		return nil, "", nil
	}
	needed, err := t.restoring(ctx, o.Namespace)
	if err != nil {
		return nil, "", failure.New(v1beta2.ReasonSnapshotsKept, fmt.Sprintf("No snapshot is deleted, because the operator cannot read which ones are being restored: %v.", err))
	}
	free = slices.DeleteFunc(slices.Clone(keys), func(name string) bool {
		for path, restore := range needed {
			key, here := strings.CutPrefix(path, o.Target.Bucket+"/")
			if here && (name == key || strings.HasPrefix(name, key+".")) {
				why = fmt.Sprintf("Snapshot %s is kept, because EtcdRestore %s restores it.", key, restore)
				return true
			}
		}
		return false
	})
	return free, why, nil
}
