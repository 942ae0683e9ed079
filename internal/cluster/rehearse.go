package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// rehearsalName ends the name of an object that exists in a dry run only. Names of members never end like this: their
// suffixes have no vowels.
const rehearsalName = "-rehearsal"

// rehearseAgain is how long a refusal counts for the same spec. A Pod that changes more often causes no more dry runs.
const rehearseAgain = 30 * time.Second

// maxQuote is how many bytes of an answer of the API server a message quotes.
const maxQuote = 300

// refusal says that a dry run found a reason not to carry out a step. Nothing was changed.
type refusal struct{ message string }

func (r *refusal) Error() string { return r.message }

// refusedStep is the wait that reports a refusal; false if err is none.
func refusedStep(err error) (plan.Step, bool) {
	var refused *refusal
	if !errors.As(err, &refused) {
		return nil, false
	}
	return plan.Wait{Reason: v1beta2.ReasonPodRefused, Message: refused.message, Stalled: true, Requeue: rehearseAgain}, true
}

// lastRefusal is the newest refusal of a cluster's Pods.
type lastRefusal struct {
	generation int64
	at         time.Time
	err        *refusal
}

// unfit says why a Pod cannot take the place of a member's Pod, and what a person must do. It is empty for one that can.
type unfit struct{ why, fix string }

// rehearse creates the Pod that is to take the place of a member's Pod in a dry run. It is called before a Pod is stopped that another
// one replaces, and before a member is added. It returns a refusal if the API server refuses the Pod, or if admission
// would make another Pod of it that has to be recreated again.
func (r *Reconciler) rehearse(ctx context.Context, v *view, member string, start plan.Start) error {
	last := v.known.refused
	if last.err != nil && last.generation == v.cluster.Generation && v.Now.Sub(last.at) < rehearseAgain {
		return last.err
	}
	create := plan.CreateMember{Name: member, Incarnation: v.incarnationOf(member), Start: start}
	pod, err := r.rehearsalOf(v, create)
	if err != nil {
		return err
	}
	found, err := r.tryPod(ctx, v, create, pod)
	if err != nil {
		return err
	}
	v.known.refused = lastRefusal{}
	if found == (unfit{}) {
		return nil
	}
	refused := &refusal{found.why + " No Pod was deleted, and the members are unchanged. " + found.fix + " The operator tries again every 30 s."}
	v.known.refused = lastRefusal{generation: v.cluster.Generation, at: v.Now, err: refused}
	return refused
}

// rehearseSuccessor rehearses the Pod that must follow a step, if one must.
func (r *Reconciler) rehearseSuccessor(ctx context.Context, v *view, step plan.Step) error {
	next, follows := v.Successor(step)
	if !follows {
		return nil
	}
	return r.rehearse(ctx, v, next.Name, next.Start)
}

// rehearsalOf builds the Pod of a member under a name that no member has.
func (r *Reconciler) rehearsalOf(v *view, create plan.CreateMember) (*corev1.Pod, error) {
	pod := newPod(v.State, create, r.SeedImage)
	pod.Name = v.Name + rehearsalName
	if err := controllerutil.SetControllerReference(v.cluster, pod, r.Client.Scheme()); err != nil {
		return nil, fmt.Errorf("own %s %s: %w", kindName(pod), pod.Name, err)
	}
	return pod, nil
}

// tryPod creates a Pod of rehearsalOf in a dry run, and says what is wrong with it. It returns an error if the answer does not tell.
func (r *Reconciler) tryPod(ctx context.Context, v *view, create plan.CreateMember, pod *corev1.Pod) (unfit, error) {
	answer := r.Client.Create(ctx, pod, client.DryRunAll)
	said, err := refusedBy(answer)
	if over, is := exceededQuota(answer); is {
		said, err = r.refusedByQuota(ctx, v, create.Name, over)
	}
	if err != nil {
		return unfit{}, wrap("create in a dry run", pod, err)
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
	case v.againStale(pod, create):
		return unfit{
			"An admission webhook changes the Pods that the operator creates, so that they differ from the spec. It rewrites the annotations etcd.database.coreos.com/* or the image. A restart would not help.",
			"Exempt the Pods of this cluster from the webhook.",
		}, nil
	}
	return unfit{}, nil
}

// confirmStoppable fails if the switch would be refused by now. A safety snapshot would be too old when the refusal ends, and each one is
// a full copy of the data.
func (r *Reconciler) confirmStoppable(ctx context.Context, v *view) error {
	pods, err := r.livePods(ctx, v)
	if err != nil {
		return err
	}
	return r.rehearseStops(ctx, v, pods)
}

// rehearseStops deletes the Pods of the old members in a dry run, with the options of stopMembers, before a restore switches to its seed.
// If the API server refused to delete one of them after the others have stopped, neither the old members nor the seed would serve.
func (r *Reconciler) rehearseStops(ctx context.Context, v *view, pods []corev1.Pod) error {
	for i := range pods {
		pod := &pods[i]
		if !v.owns(pod) || incarnationOf(v.State, pod) == v.Restore.Incarnation || !pod.DeletionTimestamp.IsZero() || hasEnded(pod) {
			continue
		}
		said, err := refusedBy(client.IgnoreNotFound(r.Client.Delete(ctx, pod, client.DryRunAll, client.GracePeriodSeconds(stopGrace), client.Preconditions{UID: &pod.UID})))
		if err != nil {
			return wrap("delete in a dry run", pod, err)
		}
		if said != "" {
			return &refusal{"The API server refuses to delete Pod " + pod.Name + ": " + planning.Shorten(said, maxQuote) + ". So the restore does not switch to its seed, and the members serve as before. " +
				"Correct the webhook or policy that refuses it. The operator tries again every 30 s."}
		}
	}
	return nil
}

// againStale reports whether a Pod as admission would make it had to be recreated at once.
func (v *view) againStale(pod *corev1.Pod, create plan.CreateMember) bool {
	var m plan.Member
	observePod(&m, pod, v.Now)
	observeTemplate(v.State, &m, pod)
	return m.Outdated || m.PodImage != v.ImageFor(create.Incarnation) || m.Trust != v.Certificates.Trust
}

// incarnationOf a member; a member that does not exist yet is one of the current incarnation.
func (v *view) incarnationOf(member string) int32 {
	for _, m := range v.Members {
		if m.Name == member {
			return m.Incarnation
		}
	}
	return v.Incarnation
}

// refusedBy returns why the API server refuses an object for good. It returns the error if the API server may accept
// the same object later, and nothing for an answer that does not tell: a webhook that cannot take part in a dry run,
// and a quota, which counts the old object beside the new one (see refusedByQuota).
func refusedBy(err error) (said string, other error) {
	switch {
	case err == nil:
		return "", nil
	case strings.Contains(err.Error(), "exceeded quota"), strings.Contains(err.Error(), "does not support dry run"):
		return "", nil
	case kube.Refused(err):
		return strings.TrimRight(err.Error(), ". \n"), nil
	}
	return "", err
}
