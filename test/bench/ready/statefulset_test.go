package ready

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// statefulSet returns a StatefulSet of etcd members without an operator, and its Service.
func statefulSet(namespace, name string, size int) []client.Object {
	return statefulSetOf(namespace, name, size, new(v1beta2.EtcdClusterSpec).Image())
}

// statefulSetOf returns a StatefulSet with an image of etcd, and its Service.
func statefulSetOf(namespace, name string, size int, image string) []client.Object {
	labels := map[string]string{"app": name}
	host := func(i int) string { return fmt.Sprintf("%s-%d.%s.%s.svc", name, i, name, namespace) }
	var initial []string
	for i := range size {
		initial = append(initial, fmt.Sprintf("%s-%d=http://%s:2380", name, i, host(i)))
	}
	own := "http://$(POD)." + name + "." + namespace + ".svc"
	probe := func(path string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(v1beta2.MetricsPort)}}
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	return []client.Object{
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: labels,
			Ports: []corev1.ServicePort{{Name: "peer", Port: v1beta2.PeerPort}},
		}},
		&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			ServiceName: name, Replicas: ptr.To(int32(size)), PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false),
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), RunAsGroup: ptr.To[int64](65532), FSGroup: ptr.To[int64](65532),
					},
					Containers: []corev1.Container{{
						Name: "etcd", Image: image,
						Env: []corev1.EnvVar{{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
						Command: []string{
							"/usr/local/bin/etcd", "--name=$(POD)", "--data-dir=/var/etcd/data",
							"--listen-peer-urls=http://0.0.0.0:2380", "--listen-client-urls=http://0.0.0.0:2379", "--listen-metrics-urls=http://0.0.0.0:2381",
							"--initial-advertise-peer-urls=" + own + ":2380", "--advertise-client-urls=" + own + ":2379",
							"--initial-cluster=" + strings.Join(initial, ","),
						},
						VolumeMounts:   []corev1.VolumeMount{{Name: "data", MountPath: "/var/etcd"}},
						LivenessProbe:  &corev1.Probe{ProbeHandler: probe("/livez"), InitialDelaySeconds: 10, PeriodSeconds: 10, TimeoutSeconds: 10, FailureThreshold: 6},
						ReadinessProbe: &corev1.Probe{ProbeHandler: probe("/readyz"), PeriodSeconds: 1, TimeoutSeconds: 3, FailureThreshold: 3},
					}},
				},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")}},
				},
			}},
		}},
	}
}
