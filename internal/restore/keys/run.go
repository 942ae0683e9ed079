package keys

import (
	"context"
	"strconv"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// maxChanges and maxBytes limit one transaction. By default, etcd accepts 128 operations and 1.5 MiB.
	maxChanges = 64
	maxBytes   = 512 << 10
	// pageLimit is how many keys are read at once. It is halved until a page is no longer than etcd.SmallPage, and grows again after that.
	pageLimit = 1024
	// callTimeout limits one page and one transaction.
	callTimeout = 30 * time.Second
	// maxFirst is how many keys of each kind the result names, and maxName how many bytes of each.
	maxFirst = 5
	maxName  = 200
)

type run struct {
	Order
	ctx     context.Context //nolint:containedctx // of this run
	cluster Cluster
	entries Snapshot
	next    *dbfile.Entry // of the snapshot; nil after the last one
	result  Result
	named   map[string]int // how many keys of a kind First has
	was     *pages         // the keys at the comparison, if keys are written
	refused error          // of the first change that the cluster refuses by its limits
	changes []etcd.Change
	bytes   int
}

func (r *run) conflict(key []byte) { r.count(&r.result.Conflicts, Conflict, key) }

func (r *run) count(of *int64, kind string, key []byte) {
	*of++
	if r.named[kind]++; r.named[kind] <= maxFirst {
		r.result.First = append(r.result.First, kind+" "+quoted(key))
	}
}

// quoted returns the name of a key for a person.
func quoted(key []byte) string {
	return strconv.QuoteToASCII(planning.Shorten(string(key), maxName))
}

// turn waits for a turn for something large.
func (r *run) turn(large bool) (leave func(), err error) {
	if !large || r.Large == nil {
		return func() {}, nil
	}
	return r.Large(r.ctx)
}

// pages reads keys of the cluster with one prefix, one page after the other.
type pages struct {
	*run
	begin, end []byte
	limit      int64
	page       []etcd.KeyValue
	more       bool
	// large is true if the next key alone is larger than etcd.SmallPage.
	large bool
	// values is false if only the names of keys and their revisions are read.
	values bool
	// now is true if the present keys are read. compacted is true if the revision of the comparison is compacted: then they are read, too.
	now, compacted bool
}
