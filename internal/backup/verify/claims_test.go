package verify

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

// A disk that is missing says nothing about the snapshot in the store.
func TestAFailureOfTheMachineCondemnsNoSnapshot(t *testing.T) {
	missing := &fs.PathError{Op: "fork/exec", Path: "/backup-operator", Err: fs.ErrNotExist}
	for _, err := range []error{fmt.Errorf("%w: %w", proof.ErrNotTested, missing), fmt.Errorf("%w: %w", snapshot.ErrDisk, missing)} {
		if condemns(err) {
			t.Errorf("%v condemns the snapshot", err)
		}
	}
}
