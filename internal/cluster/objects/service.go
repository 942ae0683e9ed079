// Package objects builds the Services, the PodDisruptionBudget and the NetworkPolicy of an EtcdCluster, and compares live ones.
package objects

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

// HeadlessService gives every member its DNS name, ready or not, because members must find each other to become ready.
func HeadlessService(s state.State) *corev1.Service {
	service := service(s, s.Name)
	service.Spec = corev1.ServiceSpec{
		ClusterIP:                corev1.ClusterIPNone,
		PublishNotReadyAddresses: true,
		Selector:                 membersOf(s),
		Ports:                    []corev1.ServicePort{port("client", v1beta2.ClientPort), port("peer", v1beta2.PeerPort)},
	}
	return service
}

// ClientService selects the ready voters of one incarnation, so that two incarnations of a cluster never answer together.
func ClientService(s state.State, to steps.ApplyServices) *corev1.Service {
	service := service(s, s.ClientService())
	service.Annotations = map[string]string{}
	if to.ClusterID != "" {
		service.Annotations[v1beta2.AnnotationClusterID] = to.ClusterID
	}
	if to.RestoreUID != "" {
		service.Annotations[v1beta2.AnnotationRestoreUID] = string(to.RestoreUID)
	}
	if to.Unready {
		service.Annotations[v1beta2.AnnotationServesUnready] = "true"
	}
	service.Spec = corev1.ServiceSpec{
		PublishNotReadyAddresses: to.Unready,

		Selector: votersOf(s, to.Incarnation),
		Ports:    []corev1.ServicePort{port("client", v1beta2.ClientPort)},
	}
	addSettings(service, s.Spec.Service)
	return service
}

// votersOf an incarnation are the Pods with these labels.
func votersOf(s state.State, incarnation int32) map[string]string {
	labels := membersOf(s)
	labels[v1beta2.LabelIncarnation], labels[pods.LabelVoter] = strconv.Itoa(int(incarnation)), "true"
	return labels
}

// membersOf the cluster are the Pods with these labels. Selectors of an earlier release lack the UID, until all Pods have
// it.
func membersOf(s state.State) map[string]string {
	labels := map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: s.Name}
	if !s.Services.WithoutUID {
		labels[v1beta2.LabelClusterUID] = string(s.UID)
	}
	return labels
}

func service(s state.State, name string) *corev1.Service {
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace,
			Name:      name,
			Labels:    map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: s.Name},
		},
	}
}

func port(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number, TargetPort: intstr.FromInt32(number), Protocol: corev1.ProtocolTCP}
}
