package ready

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newNamespace(b *testing.B, c client.Client) string {
	b.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}
	if err := c.Create(b.Context(), namespace); err != nil {
		b.Fatal(err)
	}
	return namespace.Name
}

// dropNamespace deletes a namespace and waits until it and its volumes are deleted, so that their deletion does not slow down the
// next measurement: the provisioner limits its requests to the API server.
func dropNamespace(b *testing.B, c client.Client, name string) {
	b.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Delete(b.Context(), namespace); err != nil {
		b.Fatal(err)
	}
	await(b, "the namespace is deleted", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); err != nil {
			return client.IgnoreNotFound(err)
		}
		return errors.New("it still exists")
	})
	await(b, "the volumes are deleted", func(ctx context.Context) error { return noVolumes(ctx, c, name) })
}

// noVolumes returns an error while the namespace has volumes, or the provisioner is at work.
func noVolumes(ctx context.Context, c client.Client, namespace string) error {
	var volumes corev1.PersistentVolumeList
	if err := c.List(ctx, &volumes); err != nil {
		return err
	}
	for _, volume := range volumes.Items {
		if claim := volume.Spec.ClaimRef; claim != nil && claim.Namespace == namespace {
			return fmt.Errorf("volume %s still exists", volume.Name)
		}
	}
	return provisionerIdle(ctx, c)
}

// provisionerIdle returns an error while the provisioner has Pods that make or delete volumes.
func provisionerIdle(ctx context.Context, c client.Client) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(metav1.NamespaceSystem)); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if strings.HasPrefix(pod.Name, "helper-pod-") {
			return fmt.Errorf("Pod %s of the provisioner still exists", pod.Name)
		}
	}
	return nil
}
