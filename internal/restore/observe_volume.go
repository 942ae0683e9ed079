package restore

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
)

// podPage is how many Pods are read at a time. Each may have up to 1.5 MiB.
const podPage = 20

// volume reads the claim that the spec names, until the status has it.
func (r *Reconciler) volume(ctx context.Context, s *state.State) (*state.Volume, error) {
	asked := s.Restore.Spec.Volume
	if asked == nil || s.Proven() || s.Finished() {
		r.users.set(client.ObjectKeyFromObject(&s.Restore), "")
		return nil, nil //nolint:nilnil // there is no volume to look for
	}
	var claim corev1.PersistentVolumeClaim
	err := r.direct.Get(ctx, types.NamespacedName{Namespace: s.Restore.Namespace, Name: asked.ClaimName}, &claim)
	if apierrors.IsNotFound(err) {
		return &state.Volume{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read PersistentVolumeClaim %s: %w", asked.ClaimName, err)
	}
	v := &state.Volume{
		UID: claim.UID, Deleting: !claim.DeletionTimestamp.IsZero(), Lost: claim.Status.Phase == corev1.ClaimLost,
		Size: max(claim.Status.Capacity.Storage().Value(), claim.Spec.Resources.Requests.Storage().Value()),
	}
	if v.MemberOf, err = r.memberOf(ctx, &claim); err != nil {
		return nil, err
	}
	if v.MemberOf != "" || v.Deleting || v.Lost {
		return v, nil // the restore waits for that first
	}
	v.UsedBy, err = r.userOf(ctx, client.ObjectKeyFromObject(&s.Restore), &claim)
	return v, err
}

// memberOf returns the EtcdCluster of whose member this is the volume. A volume that a restore or a recovery has set aside has no such label, and the EtcdCluster of
// one that was kept does not exist any more.
func (r *Reconciler) memberOf(ctx context.Context, claim *corev1.PersistentVolumeClaim) (string, error) {
	name := claim.Labels[v1beta2.LabelCluster]
	if name == "" {
		return "", nil
	}
	var cluster v1beta2.EtcdCluster
	found, err := r.get(ctx, types.NamespacedName{Namespace: claim.Namespace, Name: name}, &cluster)
	if err != nil || !found {
		return "", err
	}
	owner := metav1.GetControllerOf(claim)
	if owner != nil && owner.UID == cluster.UID || claim.Annotations[v1beta2.AnnotationClusterUID] == string(cluster.UID) {
		return name, nil
	}
	return "", nil
}

// userOf returns the name of a Pod that uses a claim and has not ended; empty for none. While a restore waits for a Pod, only that Pod is read: a
// namespace may have thousands, and a restore may wait for weeks.
func (r *Reconciler) userOf(ctx context.Context, restore types.NamespacedName, claim *corev1.PersistentVolumeClaim) (string, error) {
	if known := r.users.of(restore); known != "" {
		user, err := r.findUser(ctx, claim, client.MatchingFields{metav1.ObjectNameField: known})
		if user != "" || err != nil {
			return user, err
		}
	}
	user, err := r.findUser(ctx, claim)
	if err == nil {
		r.users.set(restore, user)
	}
	return user, err
}

// findUser returns the first of the selected Pods that uses a claim.
func (r *Reconciler) findUser(ctx context.Context, claim *corev1.PersistentVolumeClaim, selected ...client.ListOption) (string, error) {
	for next := ""; ; {
		var pods corev1.PodList
		options := append([]client.ListOption{client.InNamespace(claim.Namespace), client.Limit(podPage), client.Continue(next), client.UnsafeDisableDeepCopy}, selected...)
		if err := r.direct.List(ctx, &pods, options...); err != nil {
			return "", fmt.Errorf("list the Pods that may use PersistentVolumeClaim %s: %w", claim.Name, err)
		}
		for _, pod := range pods.Items {
			if uses(&pod, claim.Name) {
				return pod.Name, nil
			}
		}
		if next = pods.Continue; next == "" {
			return "", nil
		}
	}
}

// claimUsers are the Pods that used the claims of EtcdRestores when all Pods were read last, by EtcdRestore. The zero value is ready for use.
type claimUsers struct {
	mu   sync.Mutex
	pods map[types.NamespacedName]string
}

func (u *claimUsers) of(restore types.NamespacedName) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.pods[restore]
}

// set remembers a Pod. An empty name forgets it.
func (u *claimUsers) set(restore types.NamespacedName, pod string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if pod == "" {
		delete(u.pods, restore)
		return
	}
	if u.pods == nil {
		u.pods = map[types.NamespacedName]string{}
	}
	u.pods[restore] = pod
}

// uses reports whether a Pod that has not ended mounts a claim.
func uses(pod *corev1.Pod, claim string) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim {
			return true
		}
		if v.Ephemeral != nil && pod.Name+"-"+v.Name == claim {
			return true
		}
	}
	return false
}
