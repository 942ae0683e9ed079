package kube

import (
	"os"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestAFailingPassIsRetriedAtLeastEvery30Seconds(t *testing.T) {
	if MaxRetry > 30*time.Second {
		t.Errorf("retries may be %s apart, want at most 30s", MaxRetry)
	}
	limiter, object := Controller(1).RateLimiter, reconcile.Request{}
	if first := limiter.When(object); first != firstRetry {
		t.Errorf("the first retry comes after %s, want %s", first, firstRetry)
	}
	for range 100 {
		if delay := limiter.When(object); delay > MaxRetry {
			t.Fatalf("a retry comes after %s, want at most %s", delay, MaxRetry)
		}
	}
}

// The default limiter of controller-runtime waits up to 1,000 s, also after a person has removed the cause.
func TestEveryControllerRetriesWithinThisLimit(t *testing.T) {
	for _, file := range []string{"../cluster/setup.go", "../backup/setup.go", "../restore/controller.go"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "controller.Options{") || strings.Count(string(content), "WithOptions(kube.Controller(") != 1 {
			t.Errorf("%s: the controller does not use the options of kube.Controller", file)
		}
	}
}
