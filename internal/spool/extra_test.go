package spool

import (
	"errors"
	"testing"
)

// A job that holds its place for months needs more for some minutes. If it returned nothing, or delayed others, no snapshot would have room.
func TestAnExtraShareGrowsAndReturnsWhatItDoesNotNeed(t *testing.T) {
	s := on(900 * mib)
	release, err := s.Of("a").Hold(t.Context(), 5*mib)
	if err != nil {
		t.Fatal(err)
	}
	extra := s.Of("a").Extra()
	if _, err := s.Of("b").Reserve(t.Context(), 11*mib); !errors.Is(err, ErrTooSmall) {
		t.Errorf("a job waits for an empty share: %v", err)
	}
	for _, bytes := range []int64{0, 6 * mib, 2 * mib, 8 * mib} {
		if err := extra.Resize(bytes, 0); err != nil {
			t.Errorf("%d bytes: %v", bytes, err)
		}
		if used, _, _ := s.Usage(); used != bytes {
			t.Errorf("%d bytes are reserved, want %d", used, bytes)
		}
	}
	if err := extra.Resize(11*mib, 8*mib); !errors.Is(err, ErrTooSmall) {
		t.Errorf("more than there is: %v", err)
	}
	extra.Release()
	release()
	if used, limit, _ := s.Usage(); used != 0 || limit != 31*mib/2 {
		t.Errorf("%d of %d bytes are reserved in the end", used, limit)
	}
}
