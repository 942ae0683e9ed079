package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
)

// recordVariable names the directory into which the tests of real clusters record what they see.
const recordVariable = "RECORD_FAULTS"

// namespaceInRecords replaces the random name of a test's namespace.
const namespaceInRecords = "default"

// record writes what the plugin has read of a cluster with a fault, if the environment asks for it.
func record(fault, namespace string, o observed.Objects) error {
	directory := os.Getenv(recordVariable)
	if directory == "" {
		return nil
	}
	content, err := yaml.Marshal(trimmed(o))
	if err != nil {
		return fmt.Errorf("record the fault %s: %w", fault, err)
	}
	text := strings.ReplaceAll(string(content), namespace, namespaceInRecords)
	return os.WriteFile(filepath.Join(directory, fault+".yaml"), []byte(text), 0o644)
}

// trimmed returns the objects without what the plugin does not read.
func trimmed(o observed.Objects) observed.Objects {
	o.Cluster = *o.Cluster.DeepCopy()
	strip(&o.Cluster.ObjectMeta)
	for i := range o.Backups {
		strip(&o.Backups[i].ObjectMeta)
	}
	for i := range o.Restores {
		strip(&o.Restores[i].ObjectMeta)
	}
	var pods []corev1.Pod
	for _, pod := range o.Pods {
		strip(&pod.ObjectMeta)
		pods = append(pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp},
			Spec:       corev1.PodSpec{NodeName: pod.Spec.NodeName},
			Status: corev1.PodStatus{
				Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message, Conditions: pod.Status.Conditions,
				InitContainerStatuses: pod.Status.InitContainerStatuses, ContainerStatuses: pod.Status.ContainerStatuses,
			},
		})
	}
	o.Pods = pods
	return o
}

func strip(m *metav1.ObjectMeta) {
	m.ManagedFields = nil
	delete(m.Annotations, corev1.LastAppliedConfigAnnotation)
}
