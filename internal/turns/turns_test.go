package turns

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheNamespaceThatHoldsTheLeastComesFirst(t *testing.T) {
	var o Order
	o.Take("a", 2)
	o.Take("b", 1)
	o.Take("c", 1)
	if o.Compare("b", "a") >= 0 || o.Compare("b", "c") >= 0 || o.Compare("d", "b") >= 0 {
		t.Error("the order is not d, b, c, a")
	}
	o.Return("a", 2)
	if o.Compare("a", "b") >= 0 || o.Held("a") != 0 {
		t.Error("a holds nothing, and does not come first")
	}
}

// enter lets a namespace hold a slot for that long.
func enter(t *testing.T, g *Gate, namespace string, hold time.Duration, entered func()) {
	t.Helper()
	go func() {
		leave, err := g.Enter(t.Context(), namespace)
		if err != nil {
			return
		}
		entered()
		<-time.After(hold)
		leave()
	}()
	synctest.Wait()
}

func TestANamespaceThatStallsLeavesASlotToOthers(t *testing.T) {
	for _, slots := range []int{2, 3, 5} {
		synctest.Test(t, func(t *testing.T) {
			g := NewGate(slots)
			for range 10 {
				enter(t, g, "stalls", 24*time.Hour, func() {})
			}
			began := false
			enter(t, g, "other", time.Second, func() { began = true })
			<-time.After(5 * time.Second)
			if !began {
				t.Errorf("with %d slots, one namespace holds all of them", slots)
			}
			if got := g.Why("stalls"); got != OwnShare {
				t.Errorf("it waits because %s", got)
			}
			<-time.After(11 * 24 * time.Hour)
		})
	}
}

func TestNamespacesTakeTurnsAtAGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		var order []string
		for _, namespace := range []string{"a", "a", "a", "b", "b", "c"} {
			enter(t, g, namespace, time.Second, func() { order = append(order, namespace) })
		}
		<-time.After(time.Minute)
		if got := strings.Join(order, " "); got != "a b c a b a" {
			t.Errorf("the order is %s", got)
		}
	})
}

func TestACallerThatGivesUpKeepsNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		enter(t, g, "a", time.Hour, func() {})
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("too late"))
		defer cancel()
		if _, err := g.Enter(ctx, "b"); err == nil || err.Error() != "too late" {
			t.Errorf("error %v", err)
		}
		<-time.After(2 * time.Hour)
		leave, err := g.Enter(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		leave()
		if len(g.waiting) > 0 || g.inside != 0 {
			t.Errorf("%d wait and %d are inside", len(g.waiting), g.inside)
		}
	})
}
