package dbcheck

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// slow is a check that takes its time.
type slow time.Duration

func (s slow) Inspect(ctx context.Context, _ string) (dbfile.Info, error) {
	select {
	case <-time.After(time.Duration(s)):
		return dbfile.Info{Keys: 1}, nil
	case <-ctx.Done():
		return dbfile.Info{}, context.Cause(ctx)
	}
}

// sparse returns the path of a file of that size, which takes no space.
func sparse(t *testing.T, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size)); err != nil {
		t.Fatal(err)
	}
	return path
}

// slowChecks are checks of which a small one takes 1 s, a usual one 3 s, and a large one 100 s.
func slowChecks() checks {
	c := newChecks(division{separate: true})
	c.small.process, c.usual.process, c.large.process = slow(time.Second), slow(3*time.Second), slow(100*time.Second)
	return c
}

// One namespace asked for 50 checks. All other namespaces waited behind them for their snapshots, their restore tests and their restores.
func TestANamespaceThatFloodsChecksDelaysOthersBySeconds(t *testing.T) {
	for name, size := range map[string]int64{"small": 1 << 20, "usual": usualFile} {
		t.Run(name, func(t *testing.T) {
			path, large := sparse(t, size), sparse(t, usualFile+1)
			synctest.Test(t, func(t *testing.T) {
				c := slowChecks()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for range 50 {
					go func() { _, _ = c.inspect(ctx, "floods", path) }()
					go func() { _, _ = c.inspect(ctx, "floods", large) }()
				}
				synctest.Wait()
				began := time.Now()
				if _, err := c.inspect(ctx, "other", path); err != nil || time.Since(began) > 5*time.Second+3*time.Second {
					t.Errorf("the check of another namespace ended after %s, error %v", time.Since(began), err)
				}
				began = time.Now()
				if _, err := c.inspect(ctx, "other", large); err != nil || time.Since(began) > 2*100*time.Second {
					t.Errorf("its large check ended after %s, error %v", time.Since(began), err)
				}
			})
		})
	}
}

// A crafted database kept its check running for hours, so that no large database of another namespace was saved.
func TestACheckWithoutEndEndsIfOthersWait(t *testing.T) {
	path := sparse(t, 1<<30)
	synctest.Test(t, func(t *testing.T) {
		c := slowChecks()
		c.large.process = slow(24 * time.Hour)
		ended := make(chan error, 1)
		go func() {
			_, err := c.inspect(t.Context(), "crafted", path)
			ended <- err
		}()
		<-time.After(2 * time.Hour)
		select {
		case err := <-ended:
			t.Fatalf("it ended although no namespace waited: %v", err)
		default:
		}
		other, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, _ = c.inspect(other, "other", path)
		synctest.Wait()
		select {
		case err := <-ended:
			if !errors.Is(err, dbfile.ErrNotChecked) {
				t.Errorf("error %v", err)
			}
		default:
			t.Error("the check has not ended 5 s after another namespace began to wait")
		}
	})
}

// needsMore is a check that needs more memory than its slot has.
type needsMore struct{}

func (needsMore) Inspect(context.Context, string) (dbfile.Info, error) {
	return dbfile.Info{}, dbfile.ErrTooLarge
}

// A database of 200 MiB with millions of small keys could no longer be saved, because its slot has less memory than that of large ones.
func TestAUsualFileWithManyKeysGetsTheMemoryOfALargeOne(t *testing.T) {
	path := sparse(t, usualFile)
	c := slowChecks()
	c.usual.process, c.large.process = needsMore{}, slow(0)
	if info, err := c.inspect(t.Context(), "ns", path); err != nil || info.Keys != 1 {
		t.Errorf("%d keys, error %v", info.Keys, err)
	}
}
