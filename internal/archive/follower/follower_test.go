package follower

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestTheSecondLocationGetsEachObjectOnceInTheOrderOfTheChain(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	b.segments(5)
	b.begin(2, 7)
	b.segments(4)
	if copied := b.sync(); copied != 11 {
		t.Errorf("%d objects are copied, want 11", copied)
	}
	b.segments(6)
	b.follow()
	b.same()
	b.restart()
	if copied := b.sync(); copied != 0 {
		t.Errorf("a restart copies %d objects again", copied)
	}
	b.segments(1)
	b.follow()
	b.same()
	if n := len(b.to.written); n != 18 {
		t.Errorf("%d objects were written, want 18", n)
	}
}

// While the second location was down, the archive went on. Nothing may be left out, and nothing may come before what it follows.
func TestAnOutageOfTheSecondLocationIsCaughtUpInOrder(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	b.sync()
	for range 3 {
		b.segments(3)
		b.to.down = true
		if _, err := b.Follow(t.Context(), 1, b.chain.Last); !errors.Is(err, errDown) || errors.Is(err, ErrSource) {
			t.Fatalf("got %v", err)
		}
		b.segments(3)
		b.to.down = false
		b.follow()
		b.same()
	}
}

// The follower is killed after each number of writes.
func TestAFollowerThatIsKilledAnywhereIsContinued(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	b.segments(4)
	b.begin(2, 12)
	b.segments(4)
	for len(b.to.written) < 10 {
		b.restart()
		before := len(b.to.written)
		ctx, cancel := context.WithCancel(t.Context())
		b.Copied = func(int64) { cancel() }
		_, err := b.Sync(ctx, Floor{})
		if len(b.to.written) == before {
			t.Fatalf("nothing was copied: %v", err)
		}
		b.ordered()
	}
	b.restart()
	b.sync()
	b.same()
}

// A person has deleted a link in the second location.
func TestAHoleInTheSecondLocationIsFilled(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	keys := b.segments(6)
	b.sync()
	if err := b.to.Delete(t.Context(), second+strings.TrimPrefix(keys[2], first)); err != nil {
		t.Fatal(err)
	}
	b.to.written = nil
	if copied := b.sync(); copied != 2 { // with the start, which was there
		t.Errorf("%d copies", copied)
	}
	if want := []string{second + strings.TrimPrefix(keys[2], first)}; !slices.Equal(b.to.written, want) {
		t.Errorf("written %q, want %q", b.to.written, want)
	}
}
