package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
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

// rehearse creates the Pod that is to take the place of a member's Pod in a dry run. It is called before a Pod is deleted,
// or a member is added, because the spec changed. It returns a refusal if the API server refuses the Pod, or if admission
// would make another Pod of it that has to be recreated again.
func (r *Reconciler) rehearse(ctx context.Context, v *view, member string, start plan.Start) error {
	last := v.known.refused
	if last.err != nil && last.generation == v.cluster.Generation && v.Now.Sub(last.at) < rehearseAgain {
		return last.err
	}
	create := plan.CreateMember{Name: member, Incarnation: v.incarnationOf(member), Start: start}
	pod := newPod(v.State, create, r.SeedImage)
	pod.Name = v.Name + rehearsalName
	if err := controllerutil.SetControllerReference(v.cluster, pod, r.Client.Scheme()); err != nil {
		return fmt.Errorf("own %s %s: %w", kindName(pod), pod.Name, err)
	}
	answer := r.Client.Create(ctx, pod, client.DryRunAll)
	said, err := refusedBy(answer)
	if over, is := exceededQuota(answer); is {
		said, err = r.refusedByQuota(ctx, v, member, over)
	}
	if err != nil {
		return wrap("create in a dry run", pod, err)
	}
	v.known.refused = lastRefusal{}
	switch {
	case said != "":
		said = "The API server refuses the Pod that the spec asks for: " + said + ". No Pod was deleted, and the members are unchanged. " +
			"Correct spec.pod, create the missing object, or raise the quota that it names. The operator tries again every 30 s."
	case v.PodPolicy().HostUsers != nil && pod.Spec.HostUsers == nil:
		said = "This Kubernetes does not have user namespaces for Pods: the API server drops spec.pod.hostUsers. The containers would run with the users of the node, so no Pod was created or deleted for it. " +
			"Remove spec.pod.hostUsers, or use Kubernetes 1.33 or newer. The operator tries again every 30 s."
	case v.againStale(pod, create):
		said = "An admission webhook changes the Pods that the operator creates, so that they differ from the spec. It rewrites the annotations etcd.database.coreos.com/* or the image. " +
			"A restart would not help, so no Pod was deleted. Exempt the Pods of this cluster from the webhook. The operator tries again every 30 s."
	default:
		return nil
	}
	v.known.refused = lastRefusal{generation: v.cluster.Generation, at: v.Now, err: &refusal{said}}
	return v.known.refused.err
}

// livePods reads past the cache all Pods of the namespace: a Pod can lose its labels.
func (r *Reconciler) livePods(ctx context.Context, v *view) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := r.APIReader.List(ctx, &pods, client.InNamespace(v.Namespace)); err != nil {
		return nil, fmt.Errorf("list Pods of EtcdCluster %s: %w", v.Name, err)
	}
	return pods.Items, nil
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
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return strings.TrimRight(err.Error(), ". \n"), nil
	}
	return "", err
}

// causedBySpec reports whether a Pod is deleted so that another one is made as the spec asks.
func causedBySpec(step plan.DeletePod) bool {
	switch step.Reason {
	case v1beta2.ReasonUpgrading, v1beta2.ReasonRolling, v1beta2.ReasonRotatingCertificates, v1beta2.ReasonSettling:
		return true
	}
	return false
}
