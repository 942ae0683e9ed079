package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/legible"
)

func (o *Observer) ObserveServices(ctx context.Context, v *view.View) error {
	headless, err := o.serviceNamed(ctx, v, v.Name)
	if err != nil {
		return err
	}
	forClients, err := o.serviceNamed(ctx, v, v.ClientService())
	if err != nil {
		return err
	}
	if headless == nil || forClients == nil {
		v.Repeats.Forget(steps.ApplyServices{})
	}
	for _, service := range []*corev1.Service{headless, forClients} {
		v.Services.WithoutUID = v.Services.WithoutUID || (service != nil && service.Spec.Selector[v1beta2.LabelClusterUID] == "")
	}
	v.Services.HeadlessCurrent = headless != nil && objects.SameService(objects.HeadlessService(v.State), headless)
	if forClients == nil {
		return nil
	}
	v.Services.ClientExists = true
	v.Services.ClientIncarnation, v.Services.ClientClusterID = objects.ServedBy(forClients)
	v.Services.ClientRestoreUID = types.UID(forClients.Annotations[v1beta2.AnnotationRestoreUID])
	v.Services.ClientUnready = forClients.Annotations[v1beta2.AnnotationServesUnready] != ""
	v.Services.Outside, v.Services.NodePort = outside(forClients)
	want := objects.ClientService(v.State, steps.ApplyServices{
		Incarnation: v.Services.ClientIncarnation, ClusterID: v.Services.ClientClusterID, RestoreUID: v.Services.ClientRestoreUID,
		Unready: v.Services.ClientUnready,
	})
	v.Services.ClientCurrent, v.Services.TrafficDropped = objects.SameService(want, forClients), objects.DroppedTraffic(want, forClients)
	state.RecogniseFormed(&v.State)
	return nil
}

// outside returns the addresses of the load balancer of a Service, or the port that each node has for clients.
func outside(service *corev1.Service) (addresses []string, port int32) {
	switch service.Spec.Type {
	case corev1.ServiceTypeNodePort:
		for _, p := range service.Spec.Ports {
			if p.Port == v1beta2.ClientPort {
				port = p.NodePort
			}
		}
	case corev1.ServiceTypeLoadBalancer:
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			for _, address := range []string{ingress.Hostname, ingress.IP} {
				if address != "" && len(addresses) < services.MaxOutside {
					addresses = append(addresses, legible.Short(address, maxAddress))
				}
			}
		}
	}
	return addresses, port
}

// maxAddress is the longest DNS name.
const maxAddress = 253

// serviceNamed reads a Service of this cluster; nil when there is none, or only one that belongs to something else.
func (o *Observer) serviceNamed(ctx context.Context, v *view.View, name string) (*corev1.Service, error) {
	var service corev1.Service
	err := o.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &service)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Service %s: %w", name, err)
	}
	if !metav1.IsControlledBy(&service, v.Cluster) {
		v.NoteForeign("Service", &service)
		return nil, nil
	}
	services.NoteMetadata(&v.State, "Service", name, &service)
	return &service, nil
}
