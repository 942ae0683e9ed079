package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// errBehind is for a step that was planned on a cache that was behind. Nothing was done, and the next pass plans again.
var errBehind = errors.New("the API server has a newer state")

// confirm reads past the cache, before a step that needs it, whether the EtcdCluster is still what the step was planned on.
func (r *Reconciler) confirm(ctx context.Context, v *view, step plan.Step) error {
	if !v.Confirmed(step) {
		return nil
	}
	var live v1beta2.EtcdCluster
	err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(v.cluster), &live)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("EtcdCluster %s is deleted: %w", v.Name, errBehind)
	}
	if err != nil {
		return fmt.Errorf("read EtcdCluster %s: %w", v.Name, err)
	}
	if live.Labels[v1beta2.LabelShard] != r.shard {
		return fmt.Errorf("EtcdCluster %s belongs to another operator: %w", v.Name, errBehind)
	}
	if changed := plan.Outdated(v.cluster, &live); changed != "" {
		return fmt.Errorf("%s of EtcdCluster %s has changed: %w", changed, v.Name, errBehind)
	}
	switch step := step.(type) {
	case plan.BeginSwitch:
		return r.confirmRestore(ctx, v)
	case plan.DefragmentMember:
		if plan.DefragmentedSince(v.cluster, &live, step.Name) {
			return fmt.Errorf("member %s was defragmented: %w", step.Name, errBehind)
		}
	}
	return nil
}

// confirmOld reads past the cache the Pods of the members that a seed replaces. It fails if they may acknowledge writes beside the
// seed. An old cache may show that they do not run.
func (r *Reconciler) confirmOld(ctx context.Context, v *view, step plan.Step) error {
	pods, err := r.livePods(ctx, v)
	if err != nil {
		return err
	}
	live := v.State
	live.Members = nil
	for _, m := range v.Members { // one without a Pod counts among the voters
		live.Members = append(live.Members, m.WithoutPod())
	}
	for i := range pods {
		pod := &pods[i]
		if !v.owns(pod) {
			continue
		}
		at := slices.IndexFunc(live.Members, func(m plan.Member) bool { return m.Name == pod.Name })
		if at < 0 {
			at = len(live.Members)
			live.Members = append(live.Members, plan.Member{Name: pod.Name, Incarnation: incarnationOf(v.State, pod)})
		}
		observePod(&live.Members[at], pod, v.Now)
	}
	if why := live.InTheWay(step); why != "" {
		return fmt.Errorf("%s: %w", why, errBehind)
	}
	if _, is := step.(plan.BeginSwitch); is {
		return r.rehearseStops(ctx, v, pods)
	}
	return nil
}

// confirmData reads past the cache whether data that a step takes to be missing is missing: of a member that is to be
// removed for that, and of one that is to be added under a new name. It also reads whether a Pod that is to be deleted
// because it cannot run runs by now, whether old members run beside a seed, and what the client Service selects: if the status is
// lost, the Service still tells that a cluster has formed.
func (r *Reconciler) confirmData(ctx context.Context, v *view, step plan.Step) error {
	switch step := step.(type) {
	case plan.RemoveMember:
		if step.DataGone() && v.Durable() {
			if err := r.confirmAbsent(ctx, v, &corev1.PersistentVolumeClaim{}, step.Name); err != nil {
				return err
			}
		}
		if step.Unresponsive() || step.DataGone() {
			return r.confirmNotReady(ctx, v, step)
		}
	case plan.BeginRecovery:
		return r.confirmLost(ctx, v)
	case plan.ApplyServices, plan.CreateMembers:
		return r.confirmService(ctx, v)
	case plan.DeletePod:
		return r.confirmNotRunning(ctx, v, step.Name)
	case plan.DeleteVolume:
		return r.confirmOver(ctx, v, step.Name)
	case plan.CreateMember:
		if step.Waits {
			return r.confirmUnused(ctx, v, step.Name)
		}
		if step.Start == plan.StartRejoin || step.Start == plan.StartForce {
			return r.confirmSameVolume(ctx, v, step.Name)
		}
	case plan.AddLearner:
		if m, _ := v.Member(step.Name); m.Waits {
			return r.confirmWaits(ctx, v, step.Name)
		}
		if err := r.confirmFree(ctx, v, &corev1.PersistentVolumeClaim{}, step.Name); err != nil {
			return err
		}
		return r.confirmFree(ctx, v, &corev1.Pod{}, step.Name)
	}
	return r.confirmStepOfRestore(ctx, v, step)
}

// confirmNotReady fails if the Pod of a member that is to be removed because it does not serve is ready, or was ready after the cache saw it:
// its time without an answer began later. An old cache may show an earlier Pod, or one that was still starting. A Pod that the cache does not have may
// have the data of a member, although it is not ready: that of an earlier operator is not ready behind a fence.
func (r *Reconciler) confirmNotReady(ctx context.Context, v *view, step plan.RemoveMember) error {
	key := client.ObjectKey{Namespace: v.Namespace, Name: step.Name}
	var live, known corev1.Pod
	if err := r.APIReader.Get(ctx, key, &live); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("read Pod %s: %w", step.Name, err)
	}
	ready, since := readiness(&live)
	if ready {
		return fmt.Errorf("the Pod %s is ready: %w", step.Name, errBehind)
	}
	if err := r.Client.Get(ctx, key, &known); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read Pod %s: %w", step.Name, err)
	}
	if step.DataGone() && live.UID != known.UID {
		return fmt.Errorf("the Pod %s was created since then: %w", step.Name, errBehind)
	}
	if state, _, _ := plan.PodStateOf(&live, v.Now); state == plan.PodRunning && v.NotRunning(step.Name) {
		return fmt.Errorf("the Pod %s runs by now: %w", step.Name, errBehind)
	}
	if _, before := readiness(&known); step.Unresponsive() && !since.Equal(before) {
		return fmt.Errorf("the Pod %s has been ready since then, or is another one: %w", step.Name, errBehind)
	}
	return nil
}

// readiness returns whether a Pod is ready, and since when it is or is not.
func readiness(pod *corev1.Pod) (bool, time.Time) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	return false, pod.CreationTimestamp.Time
}

// confirmNotRunning fails if a Pod runs that the cache shows as blocked, ended or starting.
func (r *Reconciler) confirmNotRunning(ctx context.Context, v *view, name string) error {
	if !v.NotRunning(name) {
		return nil
	}
	var pod corev1.Pod
	if err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("read Pod %s: %w", name, err)
	}
	if state, _, _ := plan.PodStateOf(&pod, v.Now); state == plan.PodRunning {
		return fmt.Errorf("the Pod %s runs: %w", name, errBehind)
	}
	return nil
}

// confirmService fails if the client Service is for another incarnation or cluster than the cache shows. An old cache would
// turn it away from the members, and it remembers the cluster's ID if the status is lost.
func (r *Reconciler) confirmService(ctx context.Context, v *view) error {
	var live corev1.Service
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: v.ClientService()}, &live)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Service %s: %w", v.ClientService(), err)
	}
	if !metav1.IsControlledBy(&live, v.cluster) {
		return nil // apply leaves it alone
	}
	if incarnation, id := servedBy(&live); incarnation != v.Services.ClientIncarnation || id != v.Services.ClientClusterID {
		return fmt.Errorf("the Service %s selects incarnation %d of cluster %q: %w", live.Name, incarnation, id, errBehind)
	}
	return nil
}

// servedBy is what a client Service was made for.
func servedBy(service *corev1.Service) (incarnation int32, clusterID string) {
	n, _ := strconv.ParseInt(service.Spec.Selector[v1beta2.LabelIncarnation], 10, 32) // 0 if it selects nobody
	return int32(n), service.Annotations[v1beta2.AnnotationClusterID]
}

// confirmLost fails if the API server has the volume of a voter that has lost its data as far as the cache shows. The cluster
// would continue without that data.
func (r *Reconciler) confirmLost(ctx context.Context, v *view) error {
	for _, voter := range v.KnownVoters {
		if m, _ := v.Member(voter); v.HoldsData(m) {
			continue
		}
		if err := r.confirmAbsent(ctx, v, &corev1.PersistentVolumeClaim{}, voter); err != nil {
			return err
		}
	}
	return nil
}

// isLost reports whether an object is a volume whose PersistentVolume does not exist any more.
func isLost(object client.Object) bool {
	volume, is := object.(*corev1.PersistentVolumeClaim)
	return is && volume.Status.Phase == corev1.ClaimLost
}

// confirmAbsent fails if an object exists that is neither being deleted nor lost, nor set aside, nor a volume of unknown data.
func (r *Reconciler) confirmAbsent(ctx context.Context, v *view, object client.Object, name string) error {
	err := r.confirmFree(ctx, v, object, name)
	if err != nil && (!object.GetDeletionTimestamp().IsZero() || isLost(object) || isSetAside(object) || v.isAnother(object)) {
		return nil
	}
	return err
}

// confirmFree fails if an object exists, also if it is being deleted: a new member of that name would start on the old data.
func (r *Reconciler) confirmFree(ctx context.Context, v *view, object client.Object, name string) error {
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read %s %s: %w", kindName(object), name, err)
	case v.owns(object):
		return fmt.Errorf("%s %s exists: %w", kindName(object), name, errBehind)
	}
	return fmt.Errorf("%s %s has the name of a member: %w", kindName(object), name, errForeign)
}
