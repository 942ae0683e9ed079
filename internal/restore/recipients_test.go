package restore

import (
	"slices"
	"testing"

	"filippo.io/age"
)

// Another EtcdBackup of the cluster has a mistyped recipient, which the API cannot see. No safety snapshot could be encrypted, so after five minutes
// the restore went on without one.
func TestAMistypedRecipientOfAnotherEtcdBackupCostsNoSafetySnapshot(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	good := identity.Recipient().String()
	wrong := good[:len(good)-1] + "q"
	if wrong == good {
		wrong = good[:len(good)-1] + "p"
	}
	if got := usable([]string{wrong, good}); !slices.Equal(got, []string{good}) {
		t.Errorf("the safety snapshot is encrypted for %q", got)
	}
	if got := usable([]string{wrong}); !slices.Equal(got, []string{wrong}) {
		t.Errorf("without a key, it is encrypted for %q: it must fail, and not be stored in plain", got)
	}
	if got := usable(nil); len(got) != 0 {
		t.Errorf("without recipients, it is encrypted for %q", got)
	}
}
