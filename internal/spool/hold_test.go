package spool

import (
	"errors"
	"testing"
)

func TestAJobThatDoesNotEndLetsNoOtherWaitForIt(t *testing.T) {
	s := on(900 * mib)
	release, err := s.Of("a").Hold(t.Context(), 5*mib)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Of("b").Reserve(t.Context(), 11*mib); !errors.Is(err, ErrTooSmall) {
		t.Errorf("a job of 11 of 15 MiB beside one that holds 5: %v, want %v", err, ErrTooSmall)
	}
	share, err := s.Of("b").Reserve(t.Context(), 10*mib)
	if err != nil {
		t.Fatal(err)
	}
	share.Release()
	release()
	if share, err = s.Of("b").Reserve(t.Context(), 15*mib); err != nil {
		t.Fatalf("the space was not returned: %v", err)
	}
	share.Release()
	if used, limit, _ := s.Usage(); used != 0 || limit != 31*mib/2 {
		t.Errorf("%d of %d bytes are reserved in the end", used, limit)
	}
}
