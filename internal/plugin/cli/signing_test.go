package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/snapshots"
)

// An administrator who misspells the file must not get a restore that requires no signature.
func TestAPublicKeyThatCannotBeReadRestoresNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte("the key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if keys, err := (snapshots.PublicKeys{filepath.Join(dir, "key.pem")}).Signing(); err != nil || len(keys.PublicKeys) != 1 || keys.PublicKeys[0] != "the key" {
		t.Errorf("%+v, %v", keys, err)
	}
	if keys, err := (snapshots.PublicKeys{filepath.Join(dir, "kez.pem")}).Signing(); err == nil || keys != nil || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Errorf("%+v, %v", keys, err)
	}
	if keys, err := (snapshots.PublicKeys{}).Signing(); err != nil || keys != nil {
		t.Errorf("without a file: %+v, %v", keys, err)
	}
}
