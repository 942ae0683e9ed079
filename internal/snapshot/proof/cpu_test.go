package proof

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// slowStore gives one byte a second.
type slowStore struct{ io.Reader }

func (s slowStore) Read(p []byte) (int, error) {
	<-time.After(time.Second)
	return s.Reader.Read(p[:1])
}

// A store that gives one byte a second kept the turn of its namespace for the time of its answer, so that other restores of the namespace waited
// for minutes. A turn lasts only while there is something to compute.
func TestASlowStoreHoldsNoTurnOfTheProcessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := turns.NewGate(1)
		place := Place{CPU: func(ctx context.Context) (func(), error) { return gate.Enter(ctx, "ns") }}
		slow, err := place.turn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer slow.end()
			if got, err := io.ReadAll(waiting{slowStore{strings.NewReader("slow")}, slow}); string(got) != "slow" || err != nil {
				t.Errorf("read %q, error %v", got, err)
			}
		}()
		<-time.After(500 * time.Millisecond)
		began := time.Now()
		other, err := place.turn(t.Context())
		if err != nil || time.Since(began) != 0 {
			t.Errorf("the other reading waited %s, error %v", time.Since(began), err)
		}
		<-time.After(time.Second) // it computes, and the slow one waits for its turn
		other.end()
		<-done
	})
}

// A decoder that panics about crafted bytes kept a turn, so that after a few of them no restore of the namespace went on.
func TestAPanicWhileReadingKeepsNoTurn(t *testing.T) {
	gate := turns.NewGate(1)
	place := Place{CPU: func(ctx context.Context) (func(), error) { return gate.Enter(ctx, "ns") }}
	file, err := os.Create(filepath.Join(t.TempDir(), "spool"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	crafted := Reading{name: "s.db", Room: RoomFunc(func(int64, int64) error { panic("crafted") })}
	panicked := false
	func() {
		defer func() { panicked = recover() != nil }()
		_, _ = place.download(t.Context(), bytes.NewReader(make([]byte, 1<<20)), file, crafted)
	}()
	if !panicked {
		t.Fatal("nothing panicked")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	turn, err := place.turn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	turn.end()
}

// The check of a large database of one namespace took minutes. Another one waited for it, and both kept a turn of the processors, so that the small
// snapshots of a third namespace waited, too.
func TestACheckHoldsNoTurnOfTheProcessors(t *testing.T) {
	gate := turns.NewGate(1)
	place := Place{CPU: func(ctx context.Context) (func(), error) { return gate.Enter(ctx, "ns") }}
	turn, err := place.turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check := turn.without(func() (dbfile.Info, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		other, err := place.turn(ctx)
		if err == nil {
			other.end()
		}
		return dbfile.Info{Keys: 1}, err
	})
	if info, err := check(); err != nil || info.Keys != 1 {
		t.Errorf("another reader waited during the check: %v", err)
	}
	if turn.leave == nil {
		t.Error("the reader has no turn after the check")
	}
	turn.end()
}
