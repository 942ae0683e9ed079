package session

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// lookTimeout limits how long one member may take to answer.
const lookTimeout = 3 * time.Second

// World is the Kubernetes that a command works on.
type World struct {
	client.Client
	Core      kubernetes.Interface
	Namespace string
	// config is how Kubernetes is reached, for streams.
	Config *rest.Config
}

func newWorld(config *rest.Config, namespace string) (*World, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	typed, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("the API server cannot be used: %w. Nothing was read. Check that it runs", err)
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &World{Client: typed, Core: set, Namespace: namespace, Config: config}, nil
}

func (w *World) Pods(ctx context.Context, cluster string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	labels := client.MatchingLabels{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: cluster}
	if err := w.List(ctx, &pods, client.InNamespace(w.Namespace), labels); err != nil {
		return nil, fmt.Errorf("list the Pods of EtcdCluster %s: %w", cluster, err)
	}
	return pods.Items, nil
}
