package turns

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
)

// claimed waits for an amount in the background.
func claimed(ctx context.Context, t *testing.T, b *Budget, namespace string, amount int64) (admitted func() bool, release func()) {
	t.Helper()
	var got func()
	go func() { got, _ = b.Wait(ctx, namespace, amount) }()
	synctest.Wait()
	return func() bool { synctest.Wait(); return got != nil }, func() { synctest.Wait(); got() }
}

// One namespace with many archives took the whole memory, and the archives of all others stopped.
func TestANamespaceLeavesAnEighthOfABudgetToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(80)
		for range 10 {
			claimed(t.Context(), t, b, "stalls", 10)
		}
		if held := b.Used(); held != 70 || b.Why("stalls", 1) != OwnShare {
			t.Errorf("a namespace holds %d of 80, and would wait for %q", held, b.Why("stalls", 1))
		}
		if admitted, _ := claimed(t.Context(), t, b, "other", 10); !admitted() {
			t.Error("another namespace gets nothing")
		}
	})
}

// A change of 60 MiB waited for ever, because small ones of others always fitted before it.
func TestALargeAmountIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(80)
		_, first := claimed(t.Context(), t, b, "a", 30)
		large, end := claimed(t.Context(), t, b, "large", 60)
		late, _ := claimed(t.Context(), t, b, "b", 20)
		if large() || late() {
			t.Fatalf("the large one runs: %t, the later one: %t", large(), late())
		}
		first()
		if !large() || !late() {
			t.Errorf("the large one runs: %t, the later one that fits beside it: %t", large(), late())
		}
		end()
	})
}

func TestWhatGivesUpReturnsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(80)
		_, first := claimed(t.Context(), t, b, "a", 70)
		ctx, cancel := context.WithCancel(t.Context())
		claimed(ctx, t, b, "b", 70)
		later, end := claimed(t.Context(), t, b, "c", 10)
		if later() {
			t.Error("an amount overtook a larger one")
		}
		cancel()
		if !later() {
			t.Error("what has given up still holds up others")
		}
		if why := b.Take("d", 1); why != AllInUse {
			t.Errorf("81 of 80 are in use: %q", why)
		}
		first()
		end()
		if why := b.Take("d", 70); why != None || b.Used() != 70 {
			t.Errorf("%d are in use, %q", b.Used(), why)
		}
		b.Return("d", 70)
		if b.Used() != 0 {
			t.Errorf("%d are in use in the end", b.Used())
		}
	})
}

// Two namespaces held all of it for hours, and nothing was left for a third one.
func TestNamespacesThatNeedLittleFindItInADividedBudget(t *testing.T) {
	b := NewDividedBudget(8 << 20)
	fill := func(namespace string) (held int64) {
		for b.Take(namespace, 64) == None {
			held += 64
		}
		return held
	}
	if held := fill("first"); held != b.Most() {
		t.Errorf("the first one has %d of %d", held, b.Most())
	}
	if held := fill("second"); held < 512<<10 {
		t.Errorf("the second one has %d", held)
	}
	for n := range 20 { // eight of them filled what was left
		if held := fill(fmt.Sprint("hostile ", n)); held < 4<<10 || held > 32<<10 {
			t.Errorf("namespace %d has %d", n, held)
		}
	}
}

// What one namespace takes, it leaves an eighth of to others, although none of them has asked yet.
func TestANamespaceLeavesAnEighthOfWhatOthersLeave(t *testing.T) {
	b := NewDividedBudget(8 << 20)
	if why := b.Take("first", 4<<20); why != None {
		t.Fatal(why)
	}
	if why := b.Take("second", 4<<20-512<<10+1); why != AllInUse {
		t.Errorf("more than seven eighths of the rest: %q", why)
	}
	if why := b.Take("second", 4<<20-512<<10); why != None {
		t.Errorf("seven eighths of the rest: %q", why)
	}
}
