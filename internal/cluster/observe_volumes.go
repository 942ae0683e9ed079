package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// owns says whether an object is of this very EtcdCluster: it controls it, or it is a volume that is to outlive it, or a
// Pod or volume that lost its owner and has a name that was made from the EtcdCluster's UID.
func (v *view) owns(object client.Object) bool {
	_, isVolume := object.(*corev1.PersistentVolumeClaim)
	if isVolume && v.copied(object) {
		return false
	}
	if metav1.IsControlledBy(object, v.cluster) {
		return true
	}
	_, isPod := object.(*corev1.Pod)
	if metav1.GetControllerOf(object) != nil || (!isVolume && !isPod) {
		return false
	}
	if uid, marked := object.GetAnnotations()[v1beta2.AnnotationClusterUID]; marked {
		return isVolume && uid == string(v.UID)
	}
	_, named := v.IncarnationNamed(object.GetName())
	return named
}

// copied says whether a person copied the claim of a member under another name, with its labels, its annotations and perhaps
// its owner. The operator leaves such a volume alone: a member that started on it would have the identity of another one.
func (v *view) copied(volume client.Object) bool {
	of := volume.GetLabels()[v1beta2.LabelMember]
	if of == "" || of == volume.GetName() {
		return false
	}
	_, named := v.IncarnationNamed(volume.GetName())
	return !named
}

// observeVolume reads how a member's volume stands.
func observeVolume(m *plan.Member, volume *corev1.PersistentVolumeClaim) {
	m.Volume = volumeOf(volume)
	m.VolumeID, m.VolumeCreated = volumeIDOf(volume), volume.CreationTimestamp.Time
	m.VolumeUnused = volume.Annotations[annotationUnused] != ""
	m.WasSetAside = volume.Annotations[v1beta2.AnnotationReplacedAt] != ""
	m.Recovered = volume.Annotations[v1beta2.AnnotationRecoveredFrom] != ""
	if m.Recovered {
		m.RecoveredAt, _ = time.Parse(time.RFC3339, volume.Annotations[v1beta2.AnnotationRecoveryStartedAt]) // zero for the mark of an earlier release
	}
	m.VolumeKept = metav1.GetControllerOf(volume) == nil
	m.VolumeSize = volume.Spec.Resources.Requests.Storage().Value()
	m.VolumeCapacity = volume.Status.Capacity.Storage().Value()
	if state := volume.Status.AllocatedResourceStatuses[corev1.ResourceStorage]; state == corev1.PersistentVolumeClaimControllerResizeInfeasible || state == corev1.PersistentVolumeClaimNodeResizeInfeasible {
		m.VolumeProblem = string(state)
	}
	for _, c := range volume.Status.Conditions {
		if c.Type == corev1.PersistentVolumeClaimFileSystemResizePending && c.Status == corev1.ConditionTrue {
			m.FileSystemPendingSince = c.LastTransitionTime.Time
		}
	}
}

// volumeIDOf returns what tells a claim from another one of the same name.
func volumeIDOf(volume *corev1.PersistentVolumeClaim) plan.VolumeID {
	return plan.VolumeID{Claim: volume.UID, Volume: volume.Spec.VolumeName}
}

// isAnother reports whether an object is a claim that its member has not served on: it is there, and the member's data is not.
func (v *view) isAnother(object client.Object) bool {
	volume, is := object.(*corev1.PersistentVolumeClaim)
	if !is {
		return false
	}
	m, _ := v.Member(volume.Name)
	m.Volume, m.VolumeID = volumeOf(volume), volumeIDOf(volume)
	return v.OnAnotherVolume(m)
}

// confirmSameVolume fails if the claim of a member that is to start with its data is not the one that it served on. An old cache may show
// that one.
func (r *Reconciler) confirmSameVolume(ctx context.Context, v *view, name string) error {
	if _, recorded := v.KnownVolumes[name]; !recorded {
		return nil
	}
	var volume corev1.PersistentVolumeClaim
	if err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &volume); err != nil {
		return wrap("read", &volume, client.IgnoreNotFound(err))
	}
	if v.isAnother(&volume) {
		return fmt.Errorf("PersistentVolumeClaim %s is not the one that the member served on: %w", name, errBehind)
	}
	return nil
}

// observeExpansion looks, where a volume has to grow, whether its StorageClass lets it. Without the right to look it
// is taken to: the API server then refuses what it does not.
func (r *Reconciler) observeExpansion(ctx context.Context, v *view) error {
	want := v.StorageRequest()
	grows := false
	for i := range v.Members {
		m := &v.Members[i]
		m.VolumeRefused = r.refusals.of(client.ObjectKey{Namespace: v.Namespace, Name: m.Name}, want.String(), v.Now)
		grows = grows || (m.VolumeSize > 0 && m.VolumeSize < want.Value())
	}
	if !grows {
		return nil
	}
	var classes storagev1.StorageClassList
	if err := r.APIReader.List(ctx, &classes); err != nil {
		if apierrors.IsForbidden(err) {
			return nil
		}
		return fmt.Errorf("list StorageClasses: %w", err)
	}
	allowed := map[string]bool{}
	for _, class := range classes.Items {
		allowed[class.Name] = ptr.Deref(class.AllowVolumeExpansion, false)
	}
	for i := range v.Members {
		v.Members[i].VolumeFixed = !allowed[v.classes[v.Members[i].Name]]
	}
	return nil
}

// clusterByLabel names the EtcdCluster that a volume belongs to, by its owner or, if it is to outlive that, by its label.
func clusterByLabel(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[v1beta2.LabelCluster]
	if owner := metav1.GetControllerOf(object); owner != nil && owner.Kind == "EtcdCluster" {
		name = owner.Name
	}
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: name}}}
}
