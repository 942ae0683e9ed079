package cluster

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// volumeRehearsal is what a dry run of a volume returned for a generation of the spec.
type volumeRehearsal struct {
	generation int64
	// accepted: nothing is to be asked again for this generation.
	accepted bool
	// at is when the API server was last asked.
	at      time.Time
	problem string
}

// observeVolumeTemplate creates a volume of the spec's template in a dry run, once for each generation of the spec. A template
// that cannot work would be noticed when a member is replaced, which is too late. If the API server refuses it, or a webhook does
// not answer in time, the operator asks again after 30 s.
func (r *Reconciler) observeVolumeTemplate(ctx context.Context, v *view) {
	if !v.Durable() || v.PodPolicy().PersistentVolumeClaimSpec == nil || v.Spec.Paused {
		return
	}
	last := &v.known.volume
	if last.generation != v.cluster.Generation {
		*last = volumeRehearsal{generation: v.cluster.Generation}
	}
	if !last.accepted && v.Now.Sub(last.at) >= rehearseAgain {
		last.at = v.Now
		volume := newVolume(v.State, plan.CreateMember{Name: v.Name + rehearsalName, Incarnation: max(v.Incarnation, plan.FirstIncarnation)})
		said, err := refusedBy(r.Client.Create(ctx, volume, client.DryRunAll))
		if err == nil { // otherwise it is not known
			last.accepted, last.problem = said == "", said
		}
	}
	v.VolumeTemplateProblem = last.problem
}
