package cluster

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// volumeRehearsal is what a dry run of a volume returned for a generation of the spec.
type volumeRehearsal struct {
	done       bool
	generation int64
	at         time.Time
	problem    string
}

// observeVolumeTemplate creates a volume of the spec's template in a dry run, once for each generation of the spec. A template
// that cannot work would be noticed when a member is replaced, which is too late. A refusal is checked again every 30 s.
func (r *Reconciler) observeVolumeTemplate(ctx context.Context, v *view) {
	if !v.Durable() || v.PodPolicy().PersistentVolumeClaimSpec == nil || v.Spec.Paused {
		return
	}
	last := &v.known.volume
	fresh := last.done && last.generation == v.cluster.Generation
	if !fresh || (last.problem != "" && v.Now.Sub(last.at) >= rehearseAgain) {
		volume := newVolume(v.State, plan.CreateMember{Name: v.Name + rehearsalName, Incarnation: max(v.Incarnation, plan.FirstIncarnation)})
		said, err := refusedBy(r.Client.Create(ctx, volume, client.DryRunAll))
		if err != nil {
			return // it is not known; the next pass asks again
		}
		*last = volumeRehearsal{done: true, generation: v.cluster.Generation, at: v.Now, problem: said}
	}
	v.VolumeTemplateProblem = last.problem
}
