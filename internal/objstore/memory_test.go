package objstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The manual promised 500,000 names. The memory of a namespace has fewer long names than that, so an administrator who planned with the page
// had snapshots that the operator no longer deleted.
func TestAsManyNamesFitAsTheManualSays(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	const promise = "500,000 names of 149 bytes each on average, 398,000 of 270, and 125,000 of 1024"
	if !strings.Contains(string(page), promise) {
		t.Fatalf("docs/security.md does not say %q", promise)
	}
	for length, names := range map[int]int{149: 500_000, 270: 398_000, MaxName: 125_000} {
		t.Run(fmt.Sprintf("%d bytes", length), func(t *testing.T) {
			fit, err := fillWith(t.Context(), t, length)
			if !errors.Is(err, ErrListing) {
				t.Errorf("after %d names the error is %v", fit, err)
			}
			if fit < names || fit >= names+1000 {
				t.Errorf("%d names of %d bytes fit, and the manual says %d", fit, length, names)
			}
		})
	}
}

// fillWith returns how many names of a length one namespace can hold, and the error about the next one.
func fillWith(ctx context.Context, t *testing.T, length int) (int, error) {
	t.Helper()
	used, restore := ReplaceMemory(HeldMemory)
	defer restore()
	ctx, all := Hold(ctx, "ns")
	held := HeldIn(ctx, MaxNames)
	for fit := 0; ; fit++ {
		if err := held.Add(length); err != nil {
			all.Release()
			if n := used(); n != 0 {
				t.Errorf("%d bytes are counted in the end", n)
			}
			return fit, err
		}
	}
}

// What keepers held for months filled the memory, and the backups of other namespaces failed until an archive was deleted. So users lost all changes
// since their last backup.
func TestWhatIsKeptForMonthsLeavesAPartToTheWorkOfMinutes(t *testing.T) {
	used, restore := ReplaceMemory(HeldMemory)
	defer restore()
	var kept []*Holding
	fill := func(namespace string) (bytes int64) {
		h := Keep(namespace)
		kept = append(kept, h)
		for h.Add(holdingStep) == nil {
			bytes += holdingStep
		}
		return bytes
	}
	if one := fill("tenant"); one > HeldMemory*2/3 {
		t.Errorf("one namespace keeps %d MiB", one>>20)
	}
	fill("a second one")
	fill("a third one")
	if all := used(); all > HeldMemory*3/4 {
		t.Errorf("all of them keep %d MiB of %d", all>>20, HeldMemory>>20)
	}
	_, attempt := Hold(t.Context(), "other")
	if err := attempt.Add(HeldMemory / 5); err != nil {
		t.Errorf("a backup of another namespace: %v", err)
	}
	attempt.Release()
	for _, h := range kept {
		h.Release()
	}
	if n := used() + keptOfAll.Used(); n != 0 {
		t.Errorf("%d bytes are counted in the end", n)
	}
}

// The listings of two namespaces with stores that stall held all of the memory for two hours. In this time, no other namespace could choose a snapshot to restore, or
// delete an old one.
func TestTwoNamespacesWithListingsThatStallLeaveMemoryToOthers(t *testing.T) {
	used, restore := ReplaceMemory(HeldMemory)
	defer restore()
	var all []*Holding
	for _, namespace := range []string{"stalls", "stalls, too"} {
		_, h := Hold(t.Context(), namespace)
		all = append(all, h)
		for h.Add(holdingStep) == nil {
		}
	}
	for _, namespace := range []string{"other", "a fourth one", "a fifth one"} {
		ctx, h := Hold(t.Context(), namespace)
		all = append(all, h)
		held := HeldIn(ctx, MaxNames)
		for range 500 {
			if err := held.Add(200); err != nil {
				t.Fatalf("namespace %q cannot list 500 snapshots while others hold %d MiB: %v", namespace, used()>>20, err)
			}
		}
	}
	for _, h := range all {
		h.Release()
	}
	if n := used(); n != 0 {
		t.Errorf("%d bytes are counted in the end", n)
	}
}
