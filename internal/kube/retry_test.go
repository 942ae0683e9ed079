package kube

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestAFailingPassIsRetriedAtLeastEvery30Seconds(t *testing.T) {
	if MaxRetry > 30*time.Second {
		t.Errorf("retries may be %s apart, want at most 30s", MaxRetry)
	}
	limiter, object := Retries(), reconcile.Request{}
	if first := limiter.When(object); first != firstRetry {
		t.Errorf("the first retry comes after %s, want %s", first, firstRetry)
	}
	for range 100 {
		if delay := limiter.When(object); delay > MaxRetry {
			t.Fatalf("a retry comes after %s, want at most %s", delay, MaxRetry)
		}
	}
}
