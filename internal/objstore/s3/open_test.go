package s3

import (
	"os"
	"testing"
)

// Where no bundle of authorities is given, the SDK makes its client late: a save panicked in every Pod, and worked where
// the environment named a bundle.
func TestAStoreOpensWithoutABundleOfAuthorities(t *testing.T) {
	t.Setenv("AWS_CA_BUNDLE", "") // restores it
	if err := os.Unsetenv("AWS_CA_BUNDLE"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Bucket: "bucket", AccessKeyID: "key", SecretAccessKey: "secret"}); err != nil {
		t.Fatal(err)
	}
}
