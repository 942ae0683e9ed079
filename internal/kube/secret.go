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

// ErrSecretMissing is in the chain when a Secret that a spec names is not there.
var ErrSecretMissing = errors.New("no such Secret")

// SecretData reads the data of a Secret. With an empty name there is none: nil and no error.
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
		// A Secret that is empty is not the same as none: none means the ambient identity.
		return map[string][]byte{}, nil
	}
	return secret.Data, nil
}
