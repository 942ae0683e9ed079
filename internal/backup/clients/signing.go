package clients

import (
	"context"
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Signing reads the key that signs snapshots, and the public keys of all snapshots that count as signed. Without a Secret there are none.
func (t *Clients) Signing(ctx context.Context, o state.JobSpec) (*snapshot.Signer, snapshot.Signers, error) {
	if o.Signing == "" {
		return nil, snapshot.Anyone, nil
	}
	data, err := t.Secret(ctx, o.Namespace, o.Signing, v1beta2.SigningKeyKey, v1beta2.EarlierPublicKeysKey)
	if err != nil {
		return nil, snapshot.Anyone, err
	}
	signer, err := snapshot.ParseSigner(data[v1beta2.SigningKeyKey])
	if err != nil {
		return nil, snapshot.Anyone, failure.New(v1beta2.ReasonSecretMissing, fmt.Sprintf("Secret %s has no usable key %s: %v. No snapshot is taken, because it could not be signed.",
			o.Signing, v1beta2.SigningKeyKey, err))
	}
	var earlier snapshot.Signers
	if text := data[v1beta2.EarlierPublicKeysKey]; len(text) > 0 {
		if earlier, err = snapshot.ParseSigners(string(text)); err != nil {
			return nil, snapshot.Anyone, failure.New(v1beta2.ReasonSecretMissing, fmt.Sprintf("The key %s of Secret %s cannot be used: %v. Correct the Secret.", v1beta2.EarlierPublicKeysKey, o.Signing, err))
		}
	}
	return signer, signer.Signers(earlier), nil
}

// SignersOf returns who must have signed a snapshot of the status. One that was saved without a signature needs none: the SHA-256 in the status
// proves it.
func (t *Clients) SignersOf(ctx context.Context, o state.JobSpec, s v1beta2.Snapshot) (snapshot.Signers, error) {
	if s.SignedBy == "" {
		return snapshot.Anyone, nil
	}
	_, signers, err := t.Signing(ctx, o)
	return signers, err
}
