package observe

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// ObserveMembers reads the Pods and volumes that belong to the cluster.
func (o *Observer) ObserveMembers(ctx context.Context, v *view.View) error {
	found, err := o.Candidates(ctx, v, &corev1.PodList{})
	if err != nil {
		return err
	}
	volumes, err := o.Candidates(ctx, v, &corev1.PersistentVolumeClaimList{})
	if err != nil {
		return err
	}
	members := map[string]*state.Member{}
	named := func(object client.Object) *state.Member {
		m := members[object.GetName()]
		if m == nil {
			m = &state.Member{Name: object.GetName(), Incarnation: pods.IncarnationOf(v.State, object)}
			members[object.GetName()] = m
		}
		if size, err := strconv.Atoi(object.GetAnnotations()[pods.AnnotationInitialSize]); err == nil {
			m.InitialSize = size
		}
		return m
	}
	for _, object := range volumes {
		if volume, ok := object.(*corev1.PersistentVolumeClaim); ok && v.Owns(volume) && !view.IsSetAside(volume) {
			m := named(volume)
			pods.ObserveVolume(m, volume)
			m.VolumeUnlabelled = pods.Unlabelled(v.State, volume)
			services.NoteMetadata(&v.State, "PersistentVolumeClaim", volume.Name, volume)
			v.Classes[volume.Name] = ptr.Deref(volume.Spec.StorageClassName, "")
		}
	}
	for _, object := range found {
		pod, ok := object.(*corev1.Pod)
		if ok && !v.Owns(pod) && mistakable(v, pod) {
			v.NoteForeign("Pod", pod)
		}
		if ok && v.Owns(pod) {
			m := named(pod)
			pods.ObservePod(m, pod, v.Now)
			pods.ObserveTemplate(v.State, m, pod)
			pods.ObserveResize(v.State, m, pod)
			m.Unlabelled, m.WithoutUID = pods.Unlabelled(v.State, pod), pod.Labels[v1beta2.LabelClusterUID] != string(v.UID)
			v.Addresses[pod.Name] = pod.Status.PodIP
			require(v, pod)
		}
	}
	for _, m := range members {
		v.Members = append(v.Members, *m)
	}
	services.CorrectIncarnation(&v.State)
	return nil
}

// mistakable reports whether Services and budgets of the cluster select the Pod of something else, such as a member that
// an earlier EtcdCluster of the same name left.
func mistakable(v *view.View, pod *corev1.Pod) bool {
	ended := pods.HasEnded(pod)
	return !ended && pod.Labels[v1beta2.LabelApp] == v1beta2.AppName && pod.Labels[v1beta2.LabelCluster] == v.Name
}
