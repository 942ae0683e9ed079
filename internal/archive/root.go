package archive

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// CheckRoot returns what is wrong with the root of an archive: the longest names in it, which are those of proofs, must fit into a store.
func CheckRoot(root string) error {
	if n := len(ProofName{}.Key(root)); n > objstore.MaxName {
		return fmt.Errorf("an object of the continuous archive would have a key of %d bytes: at most %d are allowed", n, objstore.MaxName)
	}
	return nil
}
