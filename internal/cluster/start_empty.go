package cluster

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// A container can restart in its Pod on a volume that has become empty: a node boots again and has cleared a tmpfs, or its disk was wiped.
// Whatever once started must not start empty then. The command of a Pod cannot change, but the kubelet reads the annotations of the Pod
// each time it creates a container. So a Pod that may start without data has its --initial-cluster in an annotation.

const (
	// annotationInitialCluster holds the --initial-cluster of a Pod that makes its data. Once the member has started, it holds rejoinOnly.
	annotationInitialCluster = v1beta2.Group + "/initial-cluster"
	// envInitialCluster has the value of that annotation in the Pod.
	envInitialCluster = "MEMBER_INITIAL_CLUSTER"
)

// makesData reports whether etcd starts without data.
func makesData(start plan.Start) bool { return start == plan.StartNew || start == plan.StartJoin }

// mayStartEmpty reports whether a container of a Pod would make data again if it restarted on an empty volume, and an annotation can
// change that.
func mayStartEmpty(pod *corev1.Pod) bool {
	if pod.Annotations[annotationInitialCluster] == rejoinOnly || waits(pod) {
		return false
	}
	return hasEnv(pod.Spec.Containers, plan.EtcdContainer, envInitialCluster) || hasEnv(pod.Spec.InitContainers, seedContainer, seed.EnvDataRequired)
}

func hasEnv(containers []corev1.Container, container, name string) bool {
	return slices.ContainsFunc(containers, func(c corev1.Container) bool {
		return c.Name == container && slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name && e.ValueFrom != nil })
	})
}

// forbidEmptyStart changes the annotation of a Pod whose member has started, so that no container of it starts without data. The Pod runs
// on.
func (r *Reconciler) forbidEmptyStart(ctx context.Context, v *view, name string) error {
	var pod corev1.Pod
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod); err != nil {
		return wrap("read", &pod, client.IgnoreNotFound(err))
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         pod.UID, // never another Pod of that name
		"annotations": map[string]any{annotationInitialCluster: rejoinOnly},
	}})
	if err != nil {
		return wrap("encode the annotation of", &pod, err)
	}
	return wrap("annotate", &pod, client.IgnoreNotFound(r.Client.Patch(ctx, &pod, client.RawPatch(types.MergePatchType, patch))))
}
