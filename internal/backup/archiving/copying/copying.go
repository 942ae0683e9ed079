package copying

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/follower"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// copyShape is the part of the view whose changes are reported at once. All else waits for the next minute.
type copyShape struct {
	begun, covered, surveyed, delayed, failing bool
	lacking, unread, unpruned, reason          string
	ranges                                     int
	timeline                                   archive.Timeline
}

// job copies archives.
type job struct {
	*clients.Clients
	places  *limits.Places
	metrics *Metrics
}

// copying is the work of one copier.
type copying struct {
	*Copier
	job    *job
	second objstore.Store
	// secrets are those of both stores.
	secrets *clients.KeptSecrets
	*follower.Follower

	floor    follower.Floor
	newest   archive.Timeline // in the second location, at the last look
	looked   bool             // the floor is known
	next     time.Time        // when the listings are compared again
	surveyed archive.Chain    // up to where the copy was at the last look
	reported time.Time
	vain     int32 // comparisons in a row after which the next link was still not known
	shown    lookedAt
	prune    pruning
	shape    copyShape
	failed   int32
	leave    func() // its place
}

// lookedAt is what the last look at the second location has found.
type lookedAt struct {
	survey archive.Survey // without names
	known  bool
	proofs []archive.ProofName
	// holds is true if a failed proof there keeps all, and again if what is needed may be less soon.
	holds, again bool
}

// pruning is what is to be deleted in the second location.
type pruning struct {
	outdated []archive.Name
	keys     []string // of proofs
	more     bool
	next     time.Time // after a failure
	held     *objstore.Holding
	// selections are those of the EtcdRestores that were waiting at the last look.
	selections []clients.Selection
}
