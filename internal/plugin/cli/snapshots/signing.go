package snapshots

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// PublicKeys are files with the public keys, of which one must have signed a snapshot.
type PublicKeys []string

func (k *PublicKeys) bind(c *cobra.Command) {
	c.Flags().StringArrayVar((*[]string)(k), "public-key", nil, "file with a public key; the snapshot must have a signature of one of them")
}

// Signing returns what an EtcdRestore requires. Without a file it requires no signature.
func (k PublicKeys) Signing() (*v1beta2.SigningKeys, error) {
	if len(k) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to require
	}
	keys := &v1beta2.SigningKeys{}
	for _, name := range k {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the public key: %w. Nothing was changed", err)
		}
		keys.PublicKeys = append(keys.PublicKeys, string(text))
	}
	return keys, nil
}

// signers returns the keys of which one must have signed a snapshot that is read here.
func (k PublicKeys) signers() (snapshot.Signers, error) {
	keys, err := k.Signing()
	if err != nil || keys == nil {
		return snapshot.Anyone, err
	}
	signers, err := snapshot.ParseSigners(keys.PublicKeys...)
	if err != nil {
		return snapshot.Anyone, fmt.Errorf("read the public key: %w. Nothing was changed", err)
	}
	return signers, nil
}
