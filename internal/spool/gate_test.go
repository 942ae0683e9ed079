package spool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// A safety snapshot of 2 GiB needs two minutes. A tenant held the slot of checks with a safety snapshot of their own, and another namespace of the tenant waited
// for space. So the honest one ended after 5 of the 6 minutes that it then needed, and again in each attempt.
func TestASafetySnapshotDoesNotEndForOthersBecauseItWaitsForItsCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := safetySpool(), turns.NewGate(1)
		ctx, stop := context.WithCancel(t.Context())
		for namespace, size := range map[string]float64{"tenant": 16.6, "tenant too": 0.7} {
			reading, err := s.Of(namespace).Reserve(ctx, gib(size))
			if err != nil {
				t.Fatal(err)
			}
			defer reading.Release()
		}
		go func() { _, _ = urgentJob(t, s, "tenant", 1.98, longestUrgent) }()
		synctest.Wait()
		limited, cancel := context.WithTimeout(turns.Urgent(ctx), longestUrgent)
		defer cancel()
		honest, end := context.WithCancelCause(limited)
		share, err := s.Of("honest").ReserveUrgent(honest, gib(2.2))
		if err != nil {
			t.Fatal(err)
		}
		share.EndForOthers(honest, end)
		go func() { _, _ = urgentJob(t, s, "tenant too", 1.98, longestUrgent) }()
		<-time.After(100 * time.Second) // of the transfer
		go func() { _ = checks(turns.Urgent(ctx), g, "tenant", 2<<30, 24*time.Hour) }()
		synctest.Wait()
		if err := checks(honest, g, "honest", 2<<30, 20*time.Second); err != nil {
			t.Errorf("the safety snapshot ended: %v", err)
		}
		share.Release()
		end(nil)
		stop()
		<-time.After(time.Hour)
	})
}

// An attempt that ended for others is no safety snapshot that its namespace has had: the next one would have to give way again.
func TestAnAttemptThatEndedForOthersDoesNotCountAsASafetySnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := safetySpool()
		reading, err := s.Of("reading").Reserve(t.Context(), gib(16.6))
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = urgentJob(t, s, "tenant", 2.5, longestUrgent) }()
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { _, err := urgentJob(t, s, "honest", 2.9, longestUrgent); ended <- err }()
		synctest.Wait()
		go func() { _, _ = urgentJob(t, s, "tenant too", 2.5, longestUrgent) }()
		if err := <-ended; err == nil {
			t.Error("it did not end for the other one")
		}
		if hadUrgent(s, "honest") {
			t.Error("its namespace counts as one that has had a safety snapshot")
		}
		reading.Release()
		<-time.After(time.Hour)
	})
}
