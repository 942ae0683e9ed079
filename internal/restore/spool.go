package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Spool is the directory in which snapshots are verified: those to restore, and the safety snapshots. All of them share its
// budget, because the kubelet evicts a Pod whose emptyDir is too full, and every restore with it.
type Spool struct {
	*spool.Spool
	replays replays
	// processors decode and check snapshots. If it is nil, there are no turns.
	processors *turns.Gate
	// large is for pages of keys. If it is nil, there are no turns.
	large *turns.Gate
}

// spoolName is the directory below the spool directory that only this operator uses.
const spoolName = "etcd-restore-operator"

func spoolOf(dir string) string { return filepath.Join(dir, spoolName) }

// OpenSpool creates a directory below dir. It deletes the files that an earlier process has left there.
func OpenSpool(dir string, o spool.Options) (Spool, error) {
	own := spoolOf(dir)
	if err := errors.Join(os.RemoveAll(own), os.Mkdir(own, 0o700)); err != nil {
		return Spool{}, fmt.Errorf("create the spool directory %s (--spool-dir): %w", own, err)
	}
	o.Urgent = safetyShare
	return Spool{spool.New(own, o), newReplays(0), turns.NewGate(runtime.GOMAXPROCS(0)), newLargeKeys()}, nil
}

// safetyShare is how many percent of the spool volume the proofs leave free for safety snapshots. A proof may take hours, and
// the cluster waits 15 minutes for its safety snapshot. Half of it, by default 2.9 GiB, is left for that of each other namespace.
const safetyShare = 25

// place returns where a snapshot of a namespace is read to.
func (s Spool) place(namespace string, room proof.Room) proof.Place {
	place := proof.Place{Namespace: namespace, Dir: s.Dir(), Room: room}
	if s.processors != nil {
		place.CPU = func(ctx context.Context) (func(), error) { return s.processors.Enter(turns.Stay(ctx), namespace) } // a turn takes seconds
	}
	return place
}

// reserve reserves space for a reading.
func (s Spool) reserve(ctx context.Context, asked Asked, bytes int64) (*spool.Share, error) {
	of := s.Of(asked.Namespace)
	defer asked.waits("space on the spool volume", of.Why)()
	share, err := of.Reserve(ctx, bytes)
	if asked.end != nil {
		share.EndForOthers(ctx, asked.end)
	}
	return share, err
}

// forSafety returns the spool for a safety snapshot of a namespace. end ends it when it has to give its space to another one.
func (s Spool) forSafety(namespace string, end context.CancelCauseFunc) proof.Spool {
	return urgentSpool{s.Of(namespace), end}
}

type urgentSpool struct {
	spool.Namespace
	end context.CancelCauseFunc
}

func (u urgentSpool) Reserve(ctx context.Context, bytes int64) (*spool.Share, error) {
	share, err := u.ReserveUrgent(ctx, bytes)
	share.EndForOthers(ctx, u.end)
	return share, err
}

// SpoolFlags are the flags of the budget.
type SpoolFlags struct {
	limit    resource.QuantityValue
	keepFree int
}

// AddFlags adds the flags with their defaults to flags.
func (f *SpoolFlags) AddFlags(flags *pflag.FlagSet) {
	flags.Var(&f.limit, "spool-limit", "size of the volume of spool-dir, for example 24Gi; a snapshot waits until it fits; 0 means no limit")
	flags.IntVar(&f.keepFree, "spool-keep-free-percent", 0, "how many percent of the file system of spool-dir are left free")
}

// Options returns the budget.
func (f *SpoolFlags) Options() spool.Options {
	return spool.Options{Limit: f.limit.Value(), KeepFree: f.keepFree}
}

const (
	// readBase and readRate limit one reading: an hour, and the time for its bytes at 1 MiB a second. The store announces the bytes, so readMost
	// limits the sum.
	readBase = time.Hour
	readRate = 1 << 20
	readMost = 24 * time.Hour
)

// replays runs one replay at a time, because each of them may use all of the memory for replays. A replay reads the store, so it ends if
// that hardly moves. It also ends if it holds the slot for too long while others wait.
type replays struct {
	process replayer
	slot    *turns.Gate
}

// replayer is a replay.Process, except in tests.
type replayer interface {
	Replay(ctx context.Context, o replay.Order) (replay.Result, error)
}
