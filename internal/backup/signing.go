package backup

import (
	"context"
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// signingSecret is the name of the Secret with the key that signs snapshots. It is empty if they are not signed.
func (s State) signingSecret() string {
	if s.Spec.Signing == nil {
		return ""
	}
	return s.Spec.Signing.Secret
}

// signing reads the key that signs snapshots, and the public keys of all snapshots that count as signed. Without a Secret there are none.
func (t *job) signing(ctx context.Context, o jobSpec) (*snapshot.Signer, snapshot.Signers, error) {
	if o.Signing == "" {
		return nil, snapshot.Anyone, nil
	}
	data, err := t.secret(ctx, o.Namespace, o.Signing)
	if err != nil {
		return nil, snapshot.Anyone, err
	}
	signer, err := snapshot.ParseSigner(data[v1beta2.SigningKeyKey])
	if err != nil {
		return nil, snapshot.Anyone, fail(v1beta2.ReasonSecretMissing, fmt.Sprintf("Secret %s has no usable key %s: %v. No snapshot is taken, because it could not be signed.",
			o.Signing, v1beta2.SigningKeyKey, err))
	}
	var earlier snapshot.Signers
	if text := data[v1beta2.EarlierPublicKeysKey]; len(text) > 0 {
		if earlier, err = snapshot.ParseSigners(string(text)); err != nil {
			return nil, snapshot.Anyone, fail(v1beta2.ReasonSecretMissing, fmt.Sprintf("The key %s of Secret %s cannot be used: %v. Correct the Secret.", v1beta2.EarlierPublicKeysKey, o.Signing, err))
		}
	}
	return signer, signer.Signers(earlier), nil
}

// signersOf returns who must have signed a snapshot of the status. One that was saved without a signature needs none: the SHA-256 in the status
// proves it.
func (t *job) signersOf(ctx context.Context, o jobSpec, s v1beta2.Snapshot) (snapshot.Signers, error) {
	if s.SignedBy == "" {
		return snapshot.Anyone, nil
	}
	_, signers, err := t.signing(ctx, o)
	return signers, err
}
