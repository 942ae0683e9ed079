package plan

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// require adds to wanted the public keys of the spec, of which one must have signed the snapshot. It returns the Step that says why that is not
// possible.
func require(s state.State, wanted *steps.Verify) steps.Step {
	if s.Restore.Spec.Signing == nil {
		return nil
	}
	var err error
	wanted.Signers, err = snapshot.ParseSigners(s.Restore.Spec.Signing.PublicKeys...)
	switch {
	case err != nil:
		return invalid(fmt.Sprintf("signing.publicKeys: %v. The cluster was not changed. Create another EtcdRestore.", err))
	case !wanted.Signers.Required():
		return invalid("signing.publicKeys has no key, so no snapshot could be restored. The cluster was not changed. Create another EtcdRestore.")
	case wanted.Choice.Point():
		return invalid("The continuous archive has no signatures, so signing cannot be used with select.revision and select.time. The cluster was not changed. " +
			"Create another EtcdRestore, with select.before for the newest signed snapshot before a time, or without signing.")
	}
	return nil
}
