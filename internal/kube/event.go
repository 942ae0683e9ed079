package kube

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/legible"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// PublishEvents publishes the events of an executed step on a custom resource.
func PublishEvents(recorder events.EventRecorder, resource client.Object, published []planning.Event) {
	for _, e := range published {
		var related runtime.Object
		if e.About != (planning.Object{}) {
			related = &corev1.ObjectReference{
				APIVersion: e.About.APIVersion, Kind: e.About.Kind, Namespace: resource.GetNamespace(), Name: e.About.Name,
			}
		}
		recorder.Eventf(resource, related, e.Type, e.Reason, e.Action, "%s", legible.Line(e.Note))
	}
}
