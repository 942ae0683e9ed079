package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

const (
	// maxSecretKeys limits the keys of a Secret, and the entries in each list of its metadata. The operators know 40 keys.
	maxSecretKeys = 64
	// maxSecretBytes limits what is kept of a Secret. The largest honest content is a bundle of all public CAs, with about 230 KiB.
	maxSecretBytes = 512 << 10
)

var (
	// ErrSecretMissing is in the error chain if a Secret that a spec names does not exist, or is refused.
	ErrSecretMissing = errors.New("the Secret does not exist")
	// ErrSecretRefused is in the error chain if a Secret is larger than the operators read.
	ErrSecretRefused = fmt.Errorf("%w in a form that the operator reads", ErrSecretMissing)
)

// AnnotationIssuedFor is what cert-manager writes on a Secret: the name of its Certificate.
const AnnotationIssuedFor = "cert-manager.io/certificate-name"

// longestName is how many bytes the name of an object has at most.
const longestName = 253

// refusedSecret says why a Secret is refused. Its text is complete.
type refusedSecret struct{ text string }

func (r refusedSecret) Error() string { return r.text }
func (r refusedSecret) Unwrap() error { return ErrSecretRefused }

// ReadSecret reads a Secret. It returns the contents of the keys in wanted, and of other keys only the names, because a user may have misspelt
// one. Of the metadata it returns what identifies the Secret, its owners, the annotations of the operators and AnnotationIssuedFor. A Secret that is too
// large is refused. This is the only place that reads Secrets, so that they take little memory.
func ReadSecret(ctx context.Context, c client.Reader, key client.ObjectKey, wanted ...string) (*corev1.Secret, error) {
	var kept *corev1.Secret
	err := InTurn(ctx, key.Namespace, func() error {
		var whole corev1.Secret
		if err := c.Get(ctx, key, &whole); err != nil {
			return err
		}
		if err := checkParts(&whole); err != nil {
			return err
		}
		kept = partOf(&whole, wanted)
		return checkBytes(kept)
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// SecretData returns the data of a Secret as ReadSecret does. If name is empty, it returns nil and no error.
func SecretData(ctx context.Context, c client.Reader, namespace, name string, wanted ...string) (map[string][]byte, error) {
	if name == "" {
		return nil, nil
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	secret, err := ReadSecret(ctx, c, key, wanted...)
	return DataOf(secret, key, err)
}

// DataOf returns the data of a Secret that was read with this result.
func DataOf(secret *corev1.Secret, key client.ObjectKey, err error) (map[string][]byte, error) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%w: create Secret %s in namespace %s", ErrSecretMissing, key.Name, key.Namespace)
	case errors.Is(err, ErrSecretRefused):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("read Secret %s: %w", key, err)
	case secret.Data == nil:
		// Not nil: nil stands for the identity of the Pod's service account.
		return map[string][]byte{}, nil
	}
	return secret.Data, nil
}

// UpdateSecret reads a Secret, and writes it with a change. An error of change is returned, and then nothing is written.
func UpdateSecret(ctx context.Context, apiClient client.Client, key client.ObjectKey, change func(*corev1.Secret) error) error {
	var whole corev1.Secret
	err := InTurn(ctx, key.Namespace, func() error {
		if err := apiClient.Get(ctx, key, &whole); err != nil {
			return fmt.Errorf("read: %w", err)
		}
		whole.ManagedFields = nil // the API server keeps them
		return errors.Join(checkParts(&whole), checkBytes(&whole))
	})
	if err != nil {
		return err
	}
	if err := change(&whole); err != nil {
		return err
	}
	return apiClient.Update(ctx, &whole)
}

// partOf returns what is kept of a Secret.
func partOf(whole *corev1.Secret, wanted []string) *corev1.Secret {
	kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: whole.Namespace, Name: whole.Name, UID: whole.UID, ResourceVersion: whole.ResourceVersion, OwnerReferences: whole.OwnerReferences,
	}}
	for name, value := range whole.Annotations {
		if strings.HasPrefix(name, v1beta2.Group+"/") || name == AnnotationIssuedFor && len(value) <= longestName {
			metav1.SetMetaDataAnnotation(&kept.ObjectMeta, name, value)
		}
	}
	if whole.Data != nil {
		kept.Data = make(map[string][]byte, len(whole.Data))
	}
	for key, content := range whole.Data {
		if !slices.Contains(wanted, key) {
			content = nil
		}
		kept.Data[key] = content
	}
	return kept
}

// checkParts refuses a Secret of many parts. Each of them takes memory, even if it is empty.
func checkParts(secret *corev1.Secret) error {
	for _, part := range []struct {
		name  string
		count int
	}{
		{"keys", len(secret.Data)},
		{"labels", len(secret.Labels)},
		{"annotations", len(secret.Annotations)},
		{"owner references", len(secret.OwnerReferences)},
		{"finalizers", len(secret.Finalizers)},
	} {
		if part.count > maxSecretKeys {
			return refusedSecret{fmt.Sprintf("Secret %s in namespace %s has %d %s, and the operator reads no Secret with more than %d. Remove those that it does not need, or name another Secret",
				secret.Name, secret.Namespace, part.count, part.name, maxSecretKeys)}
		}
	}
	return nil
}

// checkBytes refuses a Secret of which too much would be kept.
func checkBytes(secret *corev1.Secret) error {
	bytes := 0
	for key, content := range secret.Data {
		bytes += len(key) + len(content)
	}
	for _, texts := range []map[string]string{secret.Annotations, secret.Labels} {
		for name, value := range texts {
			bytes += len(name) + len(value)
		}
	}
	for _, o := range secret.OwnerReferences {
		bytes += len(o.APIVersion) + len(o.Kind) + len(o.Name) + len(o.UID)
	}
	if bytes <= maxSecretBytes {
		return nil
	}
	return refusedSecret{fmt.Sprintf("Secret %s in namespace %s has %d KiB in what the operator needs of it, and the operator reads at most %d KiB. Remove what is not needed from these keys, for example CA certificates",
		secret.Name, secret.Namespace, bytes>>10, maxSecretBytes>>10)}
}
