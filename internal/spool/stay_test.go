package spool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A reading that writes keys does not end, and may hold more than a large safety snapshot leaves. If another reading ended for that one, it would end for
// nothing. One that has to give way already begins nothing that must not end.
func TestAReadingEndsForNoSafetySnapshotThatHasNoSpaceThen(t *testing.T) {
	for name, c := range map[string]struct {
		stays bool
		ends  bool
	}{"the other one stays": {true, false}, "both give way": {false, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := safetySpool()
				all, stop := context.WithCancel(t.Context())
				writes, err := s.Of("writes").Reserve(all, gib(5))
				if err != nil {
					t.Fatal(err)
				}
				end := make(chan error, 1)
				writes.EndForOthers(all, func(err error) { end <- err })
				if c.stays && !writes.Keep() {
					t.Error("it does not stay")
				}
				ended := make(chan error, 1)
				go func() { ended <- reads(all, s, "reading", 4, longestReading) }()
				synctest.Wait()
				go func() { _, _ = urgentJob(t, s, "safety", 15.5, time.Minute) }()
				<-time.After(longestUrgent)
				if gave := len(ended)+len(end) > 0; gave != c.ends {
					t.Errorf("a reading ended: %t, want %t", gave, c.ends)
				}
				if len(end) > 0 && writes.Keep() {
					t.Error("it stays, although it has to give way")
				}
				writes.Release()
				stop()
				<-time.After(time.Hour)
			})
		})
	}
}
