package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An administrator who misspells the file must not get a restore that requires no signature.
func TestAPublicKeyThatCannotBeReadRestoresNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte("the key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if keys, err := (publicKeys{filepath.Join(dir, "key.pem")}).signing(); err != nil || len(keys.PublicKeys) != 1 || keys.PublicKeys[0] != "the key" {
		t.Errorf("%+v, %v", keys, err)
	}
	if keys, err := (publicKeys{filepath.Join(dir, "kez.pem")}).signing(); err == nil || keys != nil || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Errorf("%+v, %v", keys, err)
	}
	if keys, err := (publicKeys{}).signing(); err != nil || keys != nil {
		t.Errorf("without a file: %+v, %v", keys, err)
	}
}
