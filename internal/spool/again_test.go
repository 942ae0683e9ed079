package spool

import (
	"testing"
	"testing/synctest"
	"time"
)

// The store of a restore answered the first attempt with an error after ten seconds. The second one counted as one of a namespace that has had its safety
// snapshot lately, and ended after 7 of its 8 minutes for a large one of a tenant, which then held the space for as long as it liked.
func TestAnAttemptThatFailsAtOnceDoesNotCountAsASafetySnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := safetySpool()
		reading, err := s.Of("reading").Reserve(t.Context(), gib(11))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := urgentJob(t, s, "honest", 8, 10*time.Second); err != nil { // its upload fails
			t.Fatal(err)
		}
		<-time.After(20 * time.Second)
		done := make(chan bool, 1)
		go func() { done <- taken(t, s, "honest", 8, 8*time.Minute) }()
		synctest.Wait()
		go func() { _, _ = urgentJob(t, s, "tenant", 8, longestUrgent) }()
		if !<-done {
			t.Error("the second attempt was ended for another namespace, and the restore continues without its safety snapshot")
		}
		reading.Release()
		<-time.After(time.Hour)
	})
}
