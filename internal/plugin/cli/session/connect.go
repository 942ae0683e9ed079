package session

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Within selects the namespace of the command, or all of them.
func (p *Session) Within(w *World) client.InNamespace {
	if p.Everywhere {
		return client.InNamespace(metav1.NamespaceAll)
	}
	return client.InNamespace(w.Namespace)
}

func (p *Session) Connect() (*World, error) {
	if p.Known != nil {
		return p.Known, nil
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(p.Rules, p.Overrides)
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

// ConnectTo connects, and reads the EtcdCluster that the arguments name.
func (p *Session) ConnectTo(ctx context.Context, args []string) (*World, v1beta2.EtcdCluster, error) {
	w, err := p.Connect()
	if err != nil {
		return nil, v1beta2.EtcdCluster{}, err
	}
	c, err := w.Cluster(ctx, args)
	return w, c, err
}
