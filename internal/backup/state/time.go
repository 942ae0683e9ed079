package state

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// century is the longest duration. A time.Duration cannot hold much more.
	century = 100 * 365 * 24 * time.Hour
	// MaxMessage limits the length of a message of the status, because it may contain the answer of a server.
	MaxMessage = 1500
)

// Seconds returns a number of seconds of the spec. A larger one than a century means the same as a century, because it would
// overflow.
func Seconds(n int64) time.Duration {
	return time.Duration(min(n, int64(century/time.Second))) * time.Second
}

// Second returns a time with the precision of the API, so that it equals what is read back.
func Second(t time.Time) *metav1.Time { return &metav1.Time{Time: t.Truncate(time.Second)} }

// Stamp is a time in messages, in RFC 3339 and UTC.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Clip shortens a message of a server to what the status holds.
func Clip(message string) string { return planning.Shorten(message, MaxMessage) }
