// Package dryrun creates and deletes objects in dry runs before the operator depends on them. It also compares the clock of the operator with that
// of the API server in this way.
package dryrun

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// unfit says why a Pod cannot take the place of a member's Pod, and what a person must do. It is empty for one that can.
type unfit struct{ why, fix string }

// Rehearse creates the Pod that is to take the place of a member's Pod in a dry run. It is called before a Pod is stopped that another
// one replaces, and before a member is added. It returns a refusal if the API server refuses the Pod, or if admission
// would make another Pod of it that has to be recreated again.
func (r *Rehearsals) Rehearse(ctx context.Context, v *view.View, member string, start state.Start) error {
	known := r.Memory.OfView(v)
	last := known.refused
	if last.err != nil && last.generation == v.Cluster.Generation && v.Now.Sub(last.at) < RehearseAgain {
		return last.err
	}
	create := steps.CreateMember{Name: member, Incarnation: incarnationOfMember(v, member), Start: start}
	pod, err := r.rehearsalOf(v, create)
	if err != nil {
		return err
	}
	found, err := r.tryPod(ctx, v, create, pod)
	if err != nil {
		return err
	}
	known.refused = lastRefusal{}
	if found == (unfit{}) {
		return nil
	}
	refused := &Refusal{found.why + " No Pod was deleted, and the members are unchanged. " + found.fix + " The operator tries again every 30 s."}
	known.refused = lastRefusal{generation: v.Cluster.Generation, at: v.Now, err: refused}
	return refused
}

// RehearseSuccessor rehearses the Pod that must follow a step, if one must.
func (r *Rehearsals) RehearseSuccessor(ctx context.Context, v *view.View, step steps.Step) error {
	next, follows := membership.Successor(v.State, step)
	if !follows {
		return nil
	}
	return r.Rehearse(ctx, v, next.Name, next.Start)
}

// NewPod is the Pod of a member, as it is created.
func (r *Rehearsals) NewPod(s state.State, create steps.CreateMember) *corev1.Pod {
	pod := pods.NewPod(s, create, r.SeedImage)
	pods.AddSeedEnv(pod, r.SeedEnv)
	return pod
}

// rehearsalOf builds the Pod of a member under a name that no member has.
func (r *Rehearsals) rehearsalOf(v *view.View, create steps.CreateMember) (*corev1.Pod, error) {
	pod := r.NewPod(v.State, create)
	pod.Name = v.Name + rehearsalName
	if err := controllerutil.SetControllerReference(v.Cluster, pod, r.Client.Scheme()); err != nil {
		return nil, fmt.Errorf("own %s %s: %w", view.KindName(pod), pod.Name, err)
	}
	return pod, nil
}

// tryPod creates a Pod of rehearsalOf in a dry run, and says what is wrong with it. It returns an error if the answer does not tell.
func (r *Rehearsals) tryPod(ctx context.Context, v *view.View, create steps.CreateMember, pod *corev1.Pod) (unfit, error) {
	answer := r.Client.Create(ctx, pod, client.DryRunAll)
	said, err := refusedBy(answer)
	if over, is := exceededQuota(answer); is {
		said, err = r.refusedByQuota(ctx, v, create.Name, over)
	}
	if err != nil {
		return unfit{}, view.Wrap("create in a dry run", pod, err)
	}
	switch {
	case said != "":
		return unfit{
			"The API server refuses the Pod that the spec asks for: " + said + ".",
			"Correct spec.pod, create the missing object, or raise the quota that it names.",
		}, nil
	case v.PodPolicy().HostUsers != nil && pod.Spec.HostUsers == nil:
		return unfit{
			"This Kubernetes does not have user namespaces for Pods: the API server drops spec.pod.hostUsers. The containers would run with the users of the node.",
			"Remove spec.pod.hostUsers, or use Kubernetes 1.33 or newer.",
		}, nil
	case againStale(v, pod, create):
		return unfit{
			"An admission webhook changes the Pods that the operator creates, so that they differ from the spec. It rewrites the annotations etcd.database.coreos.com/* or the image. A restart would not help.",
			"Exempt the Pods of this cluster from the webhook.",
		}, nil
	}
	return unfit{}, nil
}

// againStale reports whether a Pod as admission would make it had to be recreated at once.
func againStale(v *view.View, pod *corev1.Pod, create steps.CreateMember) bool {
	var m state.Member
	pods.ObservePod(&m, pod, v.Now)
	pods.ObserveTemplate(v.State, &m, pod)
	return m.Outdated || m.PodImage != v.ImageFor(create.Incarnation) || m.Trust != v.Certificates.Trust
}

// incarnationOfMember is the incarnation of a member. One that does not exist yet is of the current one.
func incarnationOfMember(v *view.View, member string) int32 {
	for _, m := range v.Members {
		if m.Name == member {
			return m.Incarnation
		}
	}
	return v.Incarnation
}
