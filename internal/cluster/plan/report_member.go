package plan

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// relatedTo is the Pod or the volume that a step is about, nil where it is about the whole cluster. It stands in the
// event beside the EtcdCluster, so that what was done to one member can be found by its name, and client-go never counts
// it as one with what was done to another.
func (s State) RelatedTo(step Step) runtime.Object {
	switch step := step.(type) {
	case CreateMember:
		return s.podRef(step.Name)
	case AddLearner:
		return s.podRef(step.Name)
	case MoveLeader:
		return s.podRef(step.From)
	case RemoveMember:
		return s.podRef(step.Name)
	case DeletePod:
		return s.podRef(step.Name)
	case ForgetPod:
		return s.podRef(step.Name)
	case DefragmentMember:
		return s.podRef(step.Name)
	case DeleteVolume:
		return s.claimRef(step.Name)
	case ResizeVolume:
		return s.claimRef(step.Name)
	}
	return nil
}

func (s State) podRef(member string) runtime.Object {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: member},
	}
}

func (s State) claimRef(member string) runtime.Object {
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: member},
	}
}
