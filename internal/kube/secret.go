package kube

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrSecretMissing is in the error chain if a Secret that a spec names does not exist.
var ErrSecretMissing = errors.New("the Secret does not exist")

// SecretData returns the data of a Secret. If name is empty, it returns nil and no error.
func SecretData(ctx context.Context, c client.Reader, namespace, name string) (map[string][]byte, error) {
	if name == "" {
		return nil, nil
	}
	var secret corev1.Secret
	err := c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: create Secret %s in namespace %s", ErrSecretMissing, name, namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	}
	if secret.Data == nil {
		// Not nil: nil stands for the identity of the Pod's service account.
		return map[string][]byte{}, nil
	}
	return secret.Data, nil
}
