package kube

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestAFailingPassIsRetriedAtLeastEvery30Seconds(t *testing.T) {
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
