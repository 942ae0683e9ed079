package gcs

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/pki/pkitest"
)

// A tenant writes an RSA key under another PEM type into credentials.json. Google's library reads a PEM block of any type, and computes for minutes
// after the context has ended. Each retry left another goroutine that computes.
func TestAHugeKeyUnderAnotherNameIsRefusedAtOnce(t *testing.T) {
	der := pkitest.HugeKey(t)
	for _, kind := range []string{"RSA PRIVATE KEY", "KEY"} {
		t.Run(kind, func(t *testing.T) {
			key := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
			file, _ := json.Marshal(map[string]string{"type": "service_account", "client_email": "a@b", "private_key": string(key), "private_key_id": "1", "project_id": "p"})
			const server = "https://127.0.0.1:1" // the key endpoint of the Secret names it, too
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			done := make(chan error, 1)
			began := time.Now()
			go func() {
				store, err := Open(ctx, Config{Bucket: "bucket", Endpoint: server, CredentialsFor: server, CredentialsJSON: file})
				if err == nil {
					for _, err = range store.List(ctx, "k") {
					}
				}
				done <- err
			}()
			select {
			case err := <-done:
				t.Logf("after %s: %.200v", time.Since(began), err)
			case <-time.After(30 * time.Second):
				t.Fatalf("a key of %d KiB is still being read after %v, although the context has ended after 2 s", len(key)>>10, time.Since(began))
			}
		})
	}
}
