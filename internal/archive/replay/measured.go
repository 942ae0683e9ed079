package replay

import (
	"os"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// segmentRate is by how much a byte of a segment counts more than one of the database: at 1 MiB a second, a slow node replays the smallest
	// changes.
	segmentRate = 4
	// perSegment is the least number of bytes that a segment counts for, because each segment is opened and decrypted.
	perSegment = 256 << 10
	// mostUnpacked is the largest number of bytes that a byte in the store counts for. The header of a segment states its size, but the writer of the
	// bucket wrote that header.
	mostUnpacked = 64
)

// SizeOf returns the size of the base in bytes. It is 0 if the base cannot be read, which the replay reports.
func SizeOf(o Order) int64 {
	info, err := os.Stat(o.Options.Path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Measured returns the order for a slot that others may wait for. Each segment that the process has taken allows more time, up to a limit.
func Measured(o Order, a *turns.Allowance) Order {
	report, left, read := o.Progress, o.Links, int64(0)
	o.Progress = func(n int64) {
		if len(left) > 0 {
			a.Add(allowed(left[0], n-read))
			left, read = left[1:], n
		}
		if report != nil {
			report(n)
		}
	}
	return o
}

// allowed returns for how many bytes of a database a segment counts, given its size in the store.
func allowed(l archive.Link, stored int64) int64 {
	return segmentRate * max(min(l.Header.Size, mostUnpacked*stored), perSegment)
}
