package s3

import (
	"os"
	"testing"
)

// Without a CA bundle, the SDK creates its HTTP client late. A save panicked in every Pod, but not on machines whose
// environment sets AWS_CA_BUNDLE.
func TestOpenSucceedsWithoutACABundle(t *testing.T) {
	t.Setenv("AWS_CA_BUNDLE", "") // restores it
	if err := os.Unsetenv("AWS_CA_BUNDLE"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Bucket: "bucket", AccessKeyID: "key", SecretAccessKey: "secret"}); err != nil {
		t.Fatal(err)
	}
}
