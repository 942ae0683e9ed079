package dryrun

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// ObserveVolumeTemplate creates a volume of the spec's template in a dry run, once for each generation of the spec. A template
// that cannot work would be noticed when a member is replaced, which is too late. If the API server refuses it, or a webhook does
// not answer in time, the operator asks again after 30 s.
func (r *Rehearsals) ObserveVolumeTemplate(ctx context.Context, v *view.View) {
	if !v.Durable() || v.PodPolicy().PersistentVolumeClaimSpec == nil || v.Spec.Paused {
		return
	}
	last := &r.Memory.OfView(v).volume
	if last.generation != v.Cluster.Generation {
		*last = volumeRehearsal{generation: v.Cluster.Generation}
	}
	if !last.accepted && v.Now.Sub(last.at) >= RehearseAgain {
		last.at = v.Now
		volume := pods.NewVolume(v.State, steps.CreateMember{Name: v.Name + rehearsalName, Incarnation: max(v.Incarnation, state.FirstIncarnation)})
		said, err := refusedBy(r.Client.Create(ctx, volume, client.DryRunAll))
		if err == nil { // otherwise it is not known
			last.accepted, last.problem = said == "", said
		}
	}
	v.VolumeTemplateProblem = last.problem
}
