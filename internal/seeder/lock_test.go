package seeder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// A force-deleted Pod runs until the kubelet ends it. If the seed of the replacement Pod started before, each would remove
// the files of the other, or rename an unfinished directory to the data directory.
func TestSeedWaitsForAnotherSeedOnItsVolume(t *testing.T) {
	f := given(t)
	f.seeder.RetryFor = time.Minute
	waits := make(chan struct{}, 1)
	f.seeder.Log = funcr.New(func(_, args string) {
		if strings.Contains(args, "another seed is using this volume") {
			waits <- struct{}{}
		}
	}, funcr.Options{})
	release, err := f.seeder.lockVolume(t.Context(), f.volume)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(f.volume, stagingName, "data.restoring")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- f.run(t) }()
	select {
	case <-waits:
	case err := <-done:
		t.Fatalf("the second seed did not wait: %v", err)
	}
	if _, err := os.Stat(half); err != nil {
		t.Errorf("the second seed removed the files of the first: %v", err)
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	f.wantVolume(t, "data")
}

func TestSeedReportsWhatItWaitedFor(t *testing.T) {
	f := given(t)
	release, err := f.seeder.lockVolume(t.Context(), f.volume)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := f.run(t); err == nil || !strings.Contains(err.Error(), "another seed") || Code(err) != seed.ExitRetry {
		t.Errorf("exit code %d: %v", Code(err), err)
	}
	f.wantVolume(t)
}
