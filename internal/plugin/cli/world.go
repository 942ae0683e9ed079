package cli

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	core "github.com/etcd-suite/etcd-operator/internal/plugin"
)

// lookTimeout limits how long one member may take to answer.
const lookTimeout = 3 * time.Second

// world is the Kubernetes that a command works on.
type world struct {
	client.Client
	core      kubernetes.Interface
	namespace string
	// config is how Kubernetes is reached, for streams.
	config *rest.Config
}

// within selects the namespace of the command, or all of them.
func (p *plugin) within(w *world) client.InNamespace {
	if p.everywhere {
		return client.InNamespace(metav1.NamespaceAll)
	}
	return client.InNamespace(w.namespace)
}

func (p *plugin) connect() (*world, error) {
	if p.known != nil {
		return p.known, nil
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(p.rules, p.overrides)
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %w. Nothing was read. Check --kubeconfig and --context", err)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %w. Nothing was read. Check --kubeconfig and --context", err)
	}
	return newWorld(config, namespace)
}

func newWorld(config *rest.Config, namespace string) (*world, error) {
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
	return &world{Client: typed, core: set, namespace: namespace, config: config}, nil
}

// connectTo connects, and reads the EtcdCluster that the arguments name.
func (p *plugin) connectTo(ctx context.Context, args []string) (*world, v1beta2.EtcdCluster, error) {
	w, err := p.connect()
	if err != nil {
		return nil, v1beta2.EtcdCluster{}, err
	}
	c, err := w.cluster(ctx, args)
	return w, c, err
}

// Read returns what status shows of a cluster, read as status reads it.
func Read(ctx context.Context, config *rest.Config, namespace, cluster string, now time.Time) (core.Objects, error) {
	w, err := newWorld(config, namespace)
	if err != nil {
		return core.Objects{}, err
	}
	c, err := w.cluster(ctx, []string{cluster})
	if err != nil {
		return core.Objects{}, err
	}
	return w.objects(ctx, c, now, true)
}

// cluster reads an EtcdCluster. Without a name there must be exactly one in the namespace.
func (w *world) cluster(ctx context.Context, args []string) (v1beta2.EtcdCluster, error) {
	var c v1beta2.EtcdCluster
	if len(args) > 0 {
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: args[0]}, &c); err != nil {
			return c, fmt.Errorf("EtcdCluster %s cannot be read in namespace %s: %w. Nothing was changed. List them: kubectl get etcd --all-namespaces", args[0], w.namespace, err)
		}
		return c, nil
	}
	var all v1beta2.EtcdClusterList
	if err := w.List(ctx, &all, client.InNamespace(w.namespace)); err != nil {
		return c, fmt.Errorf("EtcdClusters cannot be listed in namespace %s: %w. Nothing was changed. Check your rights and the CRDs", w.namespace, err)
	}
	return core.OnlyCluster(w.namespace, all.Items)
}

// objects reads what belongs to a cluster. Members are asked only if look is true.
func (w *world) objects(ctx context.Context, c v1beta2.EtcdCluster, now time.Time, look bool) (core.Objects, error) {
	o := core.Objects{Now: now, Cluster: c}
	var backups v1beta2.EtcdBackupList
	if err := w.List(ctx, &backups, client.InNamespace(w.namespace)); err != nil {
		return o, fmt.Errorf("list EtcdBackups: %w", err)
	}
	var restores v1beta2.EtcdRestoreList
	if err := w.List(ctx, &restores, client.InNamespace(w.namespace)); err != nil {
		return o, fmt.Errorf("list EtcdRestores: %w", err)
	}
	pods, err := w.pods(ctx, c.Name)
	if err != nil {
		return o, err
	}
	o.Backups, o.Restores, o.Pods = backups.Items, restores.Items, pods
	o.Nodes = w.lostNodes(ctx, c, pods)
	if look {
		o.Looks, o.Certificates = w.looks(ctx, c), w.certificates(ctx, c)
	}
	return o, nil
}

func (w *world) pods(ctx context.Context, cluster string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	labels := client.MatchingLabels{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: cluster}
	if err := w.List(ctx, &pods, client.InNamespace(w.namespace), labels); err != nil {
		return nil, fmt.Errorf("list the Pods of EtcdCluster %s: %w", cluster, err)
	}
	return pods.Items, nil
}
