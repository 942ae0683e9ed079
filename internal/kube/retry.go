package kube

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	firstRetry = 5 * time.Millisecond
	// MaxRetry is the longest time between two attempts for an object whose passes fail. The default of
	// controller-runtime is 1000 s: the operator would notice that long after the cause was removed.
	MaxRetry = 30 * time.Second
)

// Retries returns the rate limiter of a controller: it doubles the delay of an object whose passes fail, up to MaxRetry.
func Retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, MaxRetry)
}
