package restore

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/restore/plan"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// observe reads everything that a decision may depend on. It decides nothing.
func (r *Reconciler) observe(ctx context.Context, name types.NamespacedName) (state.State, error) {
	state := state.State{Now: r.now(), AnyMember: r.any, ClocksDiffer: r.server.Differs()}
	if err := r.client.Get(ctx, name, &state.Restore); err != nil {
		return state, fmt.Errorf("read EtcdRestore %s: %w", name, err)
	}
	var cluster v1beta2.EtcdCluster
	found, err := r.get(ctx, types.NamespacedName{Namespace: name.Namespace, Name: state.Restore.Spec.EtcdCluster.Name}, &cluster)
	if err != nil {
		return state, err
	}
	if found {
		state.Cluster = &cluster
	}
	if state.Ahead, err = r.ahead(ctx, &state); err != nil {
		return state, err
	}
	if reference := state.Restore.Spec.EtcdBackup; reference != nil {
		var backup v1beta2.EtcdBackup
		found, err := r.get(ctx, types.NamespacedName{Namespace: name.Namespace, Name: reference.Name}, &backup)
		if err != nil {
			return state, err
		}
		if found {
			state.Backup = &backup
		}
	}
	if state.Volume, err = r.volume(ctx, &state); err != nil {
		return state, err
	}
	if state.Backups, err = r.backups(ctx, &state); err != nil {
		return state, err
	}
	state.Recipients = recipients(state.Backups)
	state.Proof = r.reader.observe(keyOf(&state.Restore))
	state.Full = r.reader.proofs.Why(keyOf(&state.Restore), worker.Claim{}) != turns.None
	state.Safety = r.saver.observe(keyOf(&state.Restore))
	state.Writing = r.writer.observe(keyOf(&state.Restore))
	state.Revoked = r.urls.revoked(&state.Restore)
	state.Renewal = r.urls.observe(keyOf(&state.Restore))
	return state, nil
}

// ahead returns the name of the restore of the same cluster that comes before this one, if there is one.
func (r *Reconciler) ahead(ctx context.Context, state *state.State) (string, error) {
	if state.Cluster == nil || state.Finished() {
		return "", nil
	}
	var restores v1beta2.EtcdRestoreList
	if err := r.client.List(ctx, &restores, client.InNamespace(state.Restore.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("list EtcdRestores: %w", err)
	}
	return plan.Ahead(restores.Items, state.Cluster, &state.Restore), nil
}

// backups returns the EtcdBackups of the cluster.
func (r *Reconciler) backups(ctx context.Context, state *state.State) ([]v1beta2.EtcdBackup, error) {
	if state.Cluster == nil || state.Finished() {
		return nil, nil
	}
	var backups v1beta2.EtcdBackupList
	if err := r.client.List(ctx, &backups, client.InNamespace(state.Restore.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list EtcdBackups: %w", err)
	}
	return slices.DeleteFunc(backups.Items, func(b v1beta2.EtcdBackup) bool {
		return b.Spec.EtcdCluster == nil || b.Spec.EtcdCluster.Name != state.Cluster.Name
	}), nil
}

// recipients returns the age recipients of the EtcdBackups that encrypt. The safety snapshot has the data that they protect.
func recipients(backups []v1beta2.EtcdBackup) []string {
	var found []string
	for _, b := range backups {
		if b.Spec.Encryption != nil {
			found = append(found, b.Spec.Encryption.Age.Recipients...)
		}
	}
	slices.Sort(found)
	return usable(slices.Compact(found))
}

// usable returns the recipients that are public keys, because a mistyped one of an EtcdBackup that has nothing to do with the restore would cost
// the safety snapshot. If none is, all of them are returned: a snapshot that should be encrypted is not stored in plain.
func usable(recipients []string) []string {
	keys := slices.DeleteFunc(slices.Clone(recipients), func(r string) bool { return codec.Encoder{Recipients: []string{r}}.Check() != nil })
	if len(keys) == 0 {
		return recipients
	}
	return keys
}

func keyOf(restore *v1beta2.EtcdRestore) worker.Key {
	return worker.Key{Object: client.ObjectKeyFromObject(restore), UID: restore.UID}
}
