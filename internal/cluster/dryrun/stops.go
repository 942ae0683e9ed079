package dryrun

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// ConfirmStoppable fails if the switch would be refused by now. A safety snapshot would be too old when the refusal ends, and each one is
// a full copy of the data.
func (r *Rehearsals) ConfirmStoppable(ctx context.Context, v *view.View) error {
	pods, err := r.LivePods(ctx, v)
	if err != nil {
		return err
	}
	return r.RehearseStops(ctx, v, pods)
}

// RehearseStops deletes the Pods of the old members in a dry run, with the options of stopMembers, before a restore switches to its seed.
// If the API server refused to delete one of them after the others have stopped, neither the old members nor the seed would serve.
func (r *Rehearsals) RehearseStops(ctx context.Context, v *view.View, live []corev1.Pod) error {
	for i := range live {
		pod := &live[i]
		if !v.Owns(pod) || pods.IncarnationOf(v.State, pod) == v.Restore.Incarnation || !pod.DeletionTimestamp.IsZero() || pods.HasEnded(pod) {
			continue
		}
		said, err := refusedBy(client.IgnoreNotFound(r.Client.Delete(ctx, pod, client.DryRunAll, client.GracePeriodSeconds(pods.StopGrace), client.Preconditions{UID: &pod.UID})))
		if err != nil {
			return view.Wrap("delete in a dry run", pod, err)
		}
		if said != "" {
			return &Refusal{"The API server refuses to delete Pod " + pod.Name + ": " + planning.Shorten(said, MaxQuote) + ". So the restore does not switch to its seed, and the members serve as before. " +
				"Correct the webhook or policy that refuses it. The operator tries again every 30 s."}
		}
	}
	return nil
}
