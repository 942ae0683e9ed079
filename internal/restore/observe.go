package restore

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// observe reads all that a decision may look at. It decides nothing.
func (r *Reconciler) observe(ctx context.Context, name types.NamespacedName) (State, error) {
	state := State{Now: r.now()}
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
	state.Proof = r.proof(keyOf(&state.Restore))
	return state, nil
}

// ahead names the restore of the same cluster that comes first: the one that the cluster works on, else the oldest one
// that is not finished. The order is cluster-operator's.
func (r *Reconciler) ahead(ctx context.Context, state *State) (string, error) {
	if state.Cluster == nil || state.finished() {
		return "", nil
	}
	var restores v1beta2.EtcdRestoreList
	if err := r.client.List(ctx, &restores, client.InNamespace(state.Restore.Namespace)); err != nil {
		return "", fmt.Errorf("list EtcdRestores: %w", err)
	}
	return first(restores.Items, state.Cluster, &state.Restore), nil
}

// get reads an object that need not be there.
func (r *Reconciler) get(ctx context.Context, name types.NamespacedName, object client.Object) (found bool, err error) {
	err = r.client.Get(ctx, name, object)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %T %s: %w", object, name, err)
	}
	return true, nil
}

// proof is how far the reading of a restore's source is.
func (r *Reconciler) proof(key worker.Key) Proof {
	if r.proofs.Running(key) {
		return Proof{Progress: ProofRunning, Percent: r.readings.percent(key)}
	}
	proof, _, _ := r.proofs.Result(key) // its failures are in the proof
	return proof
}

func keyOf(restore *v1beta2.EtcdRestore) worker.Key {
	return worker.Key{Object: client.ObjectKeyFromObject(restore), UID: restore.UID}
}
