package objstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// dribble sends a KiB in each pause.
type dribble struct {
	left  int
	pause time.Duration
}

func (d *dribble) Read(p []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	<-time.After(d.pause)
	d.left--
	return min(len(p), 1<<10), nil
}

// Tenants with stores that sent their manifests slowly held the memory for manifests for hours, and others could restore nothing.
func TestManifestsThatAreSentSlowlyReturnTheirMemoryIfOthersLackIt(t *testing.T) {
	for name, c := range map[string]struct {
		pause time.Duration
		lacks bool
		ends  bool
	}{
		"slowly, and others lack memory":   {20 * time.Second, true, true},
		"slowly, and others lack none":     {20 * time.Second, false, false},
		"as usual, and others lack memory": {10 * time.Millisecond, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			used, restore := ReplaceMemory(HeldMemory)
			defer restore()
			synctest.Test(t, func(t *testing.T) {
				lacking.Store(nil)
				ctx, h := Hold(t.Context(), "hostile")
				defer h.Release()
				if err := h.Add(HeldMemory / 100); err != nil { // by other work of the namespace
					t.Fatal(err)
				}
				lack, stop := context.WithCancel(ctx)
				defer stop()
				if c.lacks {
					go func() {
						for lack.Err() == nil {
							now := time.Now()
							lacking.Store(&now)
							select {
							case <-time.After(time.Second):
							case <-lack.Done():
							}
						}
					}()
				}
				object := Count(ctx, &dribble{left: 1000, pause: c.pause})
				_, err := io.Copy(io.Discard, object)
				object.Done()
				if c.ends != errors.Is(err, ErrMemory) || !c.ends && err != nil {
					t.Errorf("the reading ends with %v", err)
				}
			})
			if n := used(); n != 0 {
				t.Error(fmt.Sprint(n, " bytes are counted in the end"))
			}
		})
	}
}
