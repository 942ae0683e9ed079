package restore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// After an hour the restore lost its place to jobs that came later, and its status blamed the network.
func TestAReadingKeepsItsPlaceWhileItWaitsForSpace(t *testing.T) {
	const mib = 1 << 20
	bucket := t.TempDir()
	if err := os.WriteFile(filepath.Join(bucket, "one.db"), make([]byte, 9*mib), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := Asked{Namespace: "waits", Source: v1beta2.RestoreSource{StorageType: "File", Bucket: bucket, Key: "one.db"}}
	s, err := OpenSpool(t.TempDir(), spool.Options{Limit: 16 * mib})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		other, err := s.Of("other").Reserve(t.Context(), 4*mib)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(5*time.Hour, other.Release)
		begin := time.Now()
		_, err = s.Prove(t.Context(), asked)
		if took := time.Since(begin); took < 5*time.Hour || errors.Is(err, errTooSlow) {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

// A restore that waited for other replays ended as if its store were slow. The message must have what does not count.
func TestTheLimitOfAReadingDoesNotCountItsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, limit := limitReading(t.Context(), nil)
		defer limit.stop()
		wait := limit.pausing(nil)
		<-time.After(20 * time.Minute)
		done := wait(func() string { return "the end of another replay: all are in use" })
		<-time.After(10 * time.Hour)
		done()
		begin := time.Now()
		<-ctx.Done()
		if took := time.Since(begin); took != 40*time.Minute || !errors.Is(context.Cause(ctx), errTooSlow) {
			t.Errorf("it ended after %s: %v", took, context.Cause(ctx))
		}
		if !strings.Contains(limit.waits(), "the 10h0m0s that it waited for the end of another replay do not count") {
			t.Error(limit.waits())
		}
	})
}
