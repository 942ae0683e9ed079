package view

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// NoteForeign records an object that has a name which the cluster needs. That of an earlier EtcdCluster of the same name
// is about to be deleted with it.
func (v *View) NoteForeign(kind string, object client.Object) {
	owner := metav1.GetControllerOf(object)
	earlier := owner != nil && owner.Kind == "EtcdCluster" && owner.Name == v.Name
	v.Foreign = append(v.Foreign, state.ForeignObject{Kind: kind, Name: object.GetName(), Leaving: earlier || !object.GetDeletionTimestamp().IsZero()})
}

// Owns says whether an object is of this very EtcdCluster: it controls it, or it is a volume that is to outlive it, or a
// Pod or volume that lost its owner and has a name that was made from the EtcdCluster's UID.
func (v *View) Owns(object client.Object) bool {
	_, isVolume := object.(*corev1.PersistentVolumeClaim)
	if isVolume && v.copied(object) {
		return false
	}
	if metav1.IsControlledBy(object, v.Cluster) {
		return true
	}
	_, isPod := object.(*corev1.Pod)
	if metav1.GetControllerOf(object) != nil || (!isVolume && !isPod) {
		return false
	}
	if uid, marked := object.GetAnnotations()[v1beta2.AnnotationClusterUID]; marked {
		return isVolume && uid == string(v.UID)
	}
	_, named := services.IncarnationNamed(v.State, object.GetName())
	return named
}

// copied says whether a person copied the claim of a member under another name, with its labels, its annotations and perhaps
// its owner. The operator leaves such a volume alone: a member that started on it would have the identity of another one.
func (v *View) copied(volume client.Object) bool {
	of := volume.GetLabels()[v1beta2.LabelMember]
	if of == "" || of == volume.GetName() {
		return false
	}
	_, named := services.IncarnationNamed(v.State, volume.GetName())
	return !named
}

// IsSetAside returns whether a volume was set aside. It is no member's volume then, whoever owns it and whatever its name.
// The operator writes the label and the time together. A volume with only one of them is a member's: a person may have set
// the label on several volumes at once.
func IsSetAside(volume client.Object) bool {
	_, ok := SetAsideSince(volume)
	return ok
}

// SetAsideSince returns since when a volume is set aside, and whether it is.
func SetAsideSince(volume client.Object) (time.Time, bool) {
	since, err := time.Parse(time.RFC3339, volume.GetAnnotations()[v1beta2.AnnotationReplacedAt])
	return since, err == nil && volume.GetLabels()[v1beta2.LabelReplacedOf] != ""
}
