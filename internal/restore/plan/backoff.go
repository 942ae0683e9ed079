package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// needsPerson returns whether an attempt fails until a person acts, as far as is known.
func needsPerson(reason string, attempts int32) bool {
	return problem.Lasts(reason) || grant.Refused(reason) || attempts >= planning.StalledAfterFailures
}

const firstBackoff = 5 * time.Second

// backoff returns the pause after that many attempts: 5 s, doubled after each attempt, at most longest.
func backoff(attempts int32, longest time.Duration) time.Duration {
	pause := firstBackoff
	for ; attempts > 1 && pause < longest; attempts-- {
		pause *= 2
	}
	return min(pause, longest)
}
