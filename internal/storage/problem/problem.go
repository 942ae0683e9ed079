// Package problem says what each kind of error of an object store means for a user: the reason, what to do, and how often the operator
// tries again. The operators share this table.
package problem

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// Problem is one kind of error.
type Problem struct {
	Kind   error
	Reason string
	// Lasting is true if the same request fails until somebody changes the spec, the store or what stands before it.
	Lasting bool
	// Advice is what to do.
	Advice func(storage.Location) string
}

// LongestPause is the longest pause between two attempts if the cause lasts, and MostlyPassing otherwise.
const (
	LongestPause  = 30 * time.Minute
	MostlyPassing = 5 * time.Minute
)

// Table has one entry for each of objstore.Kinds. The first match counts.
func Table() []Problem {
	return []Problem{
		{objstore.ErrNoBucket, v1beta2.ReasonBucketNotFound, false, func(l storage.Location) string {
			return fmt.Sprintf("Create the bucket %s, or correct the path.", l.Bucket)
		}},
		{objstore.ErrRegion, v1beta2.ReasonWrongRegion, true, func(l storage.Location) string {
			if l.Region == "" {
				return fmt.Sprintf("Set region to the region of the bucket %s.", l.Bucket)
			}
			return fmt.Sprintf("Correct the region %s: it is not that of the bucket %s.", l.Region, l.Bucket)
		}},
		{objstore.ErrTooLarge, v1beta2.ReasonRequestTooLarge, true, fixed("Raise the limit of the proxy before the store to at least 1 GiB, for example proxy-body-size of an ingress. Or use an endpoint without a proxy.")},
		{objstore.ErrNotImplemented, v1beta2.ReasonStoreNotCapable, true, fixed("The operator writes with If-None-Match: *, so that it never replaces an object. Upgrade the store to a release with conditional writes, or use another store. The manual explains what the field s3.checkBeforeWrite does instead, and what it cannot promise.")},
		{objstore.ErrNoStore, v1beta2.ReasonNotAStore, true, fixed("Correct the endpoint. Its host, port and path must be those of the store's API, and not of its console or of a web server.")},
		{objstore.ErrListing, v1beta2.ReasonListingTooLong, true, fixed("Keep fewer snapshots below the path, delete other objects there, or use a path with fewer objects. If there are few objects, correct the endpoint: what answers there lists without an end.")},
		{fs.ErrPermission, v1beta2.ReasonAccessDenied, false, func(l storage.Location) string {
			return fmt.Sprintf("Allow %s to list, read, write and delete objects in the bucket %s.", l.Identity(), l.Bucket)
		}},
		{objstore.ErrUnavailable, v1beta2.ReasonStoreUnavailable, false, fixed("Something answers at the endpoint, but the store cannot serve now. Check that the store runs, and that its load balancer has healthy backends.")},
	}
}

func fixed(advice string) func(storage.Location) string {
	return func(storage.Location) string { return advice }
}

// Of returns the problem of an error. An error without a kind came from the network.
func Of(err error) Problem {
	for _, p := range Table() {
		if errors.Is(err, p.Kind) {
			return p
		}
	}
	return Problem{nil, v1beta2.ReasonStoreUnreachable, false, fixed("Check the endpoint, the port and the TLS settings of the store, and the network.")}
}

// Lasts reports whether an attempt that failed for a reason fails again until somebody changes something.
func Lasts(reason string) bool {
	for _, p := range Table() {
		if p.Reason == reason {
			return p.Lasting
		}
	}
	return false
}

// Longest is the longest pause between two attempts that fail for a reason.
func Longest(reason string) time.Duration {
	if Lasts(reason) {
		return LongestPause
	}
	return MostlyPassing
}
