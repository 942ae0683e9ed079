package datadir

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/auth"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3alarm"
	"go.etcd.io/etcd/server/v3/etcdserver/apply"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"golang.org/x/crypto/bcrypt"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

const (
	// sector divides the size of every database, so that the SHA-256 at the end can be recognised.
	sector = 512
	// minTTL in seconds is what a member makes of a shorter TTL of a lease, with the default election timeout.
	minTTL = 2
	// unlimited turns the quota of etcd off. The member had its own, and has recorded in the log that it was reached.
	unlimited = -1
	// never is for what the store of a member does at intervals.
	never = 1000 * time.Hour
)

// store is the database of a member, open with the code with which etcd applies the entries of its log.
type store struct {
	backend backend.Backend
	kv      mvcc.KV
	lessor  lease.Lessor
	users   auth.AuthStore
	cluster *membership.RaftCluster
	applier apply.UberApplier
	// index and term are those of the last entry in the database when it was opened.
	index, term uint64
}

// openStore opens the copy of a database at path without its SHA-256.
func openStore(path string) (*store, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if info.Size()%sector == sha256.Size {
		if err := os.Truncate(path, info.Size()-sha256.Size); err != nil {
			return nil, fmt.Errorf("open the database: %w", err)
		}
	}
	logger := dbfile.PanickingLogger()
	config := backend.DefaultBackendConfig(logger)
	config.Path, config.UnsafeNoFsync = path, true // finish syncs the file once
	config.BatchInterval = never                   // a failure of the disk ends the calls of this goroutine, and none of its own
	s := &store{backend: backend.New(config), cluster: membership.NewCluster(logger)}
	s.index, s.term = schema.ReadConsistentIndex(s.backend.ReadTx())
	s.cluster.SetBackend(schema.NewMembershipBackend(logger, s.backend))
	s.cluster.UnsafeLoad()
	s.lessor = lease.NewLessor(logger, s.backend, s.cluster, lease.LessorConfig{MinLeaseTTL: minTTL}) // it never becomes primary, so no lease ends
	s.kv = mvcc.NewStore(logger, s.backend, s.lessor, mvcc.StoreConfig{
		CompactionBatchLimit: 10_000, CompactionSleepInterval: time.Nanosecond, // no other request needs a pause
	})
	tokens, err := auth.NewTokenProvider(logger, "", nil, 0)
	if err != nil {
		return nil, fmt.Errorf("open the users of the database: %w", err)
	}
	s.users = auth.NewAuthStore(logger, schema.NewAuthBackend(logger, s.backend), tokens, bcrypt.DefaultCost)
	alarms, err := v3alarm.NewAlarmStore(logger, schema.NewAlarmBackend(logger, s.backend))
	if err != nil {
		return nil, fmt.Errorf("open the alarms of the database: %w", err)
	}
	s.applier = apply.NewUberApplier(apply.ApplierOptions{
		Logger: logger, KV: s.kv, AlarmStore: alarms, AuthStore: s.users, Lessor: s.lessor, Cluster: s.cluster, RaftStatus: stopped{}, SnapshotServer: stopped{},
		Backend: s.backend, QuotaBackendBytesCfg: unlimited, WarningApplyDuration: never,
		TxnModeWriteWithSharedBuffer: true, // as in a member
	})
	return s, nil
}

func (s *store) revision() int64 { return s.kv.Rev() }

// alone reports whether a member is the only voter.
func (s *store) alone(member uint64) bool {
	voters := s.cluster.VotingMembers()
	return len(voters) == 1 && voters[0].ID == types.ID(member)
}

// usable returns why a member with that ID does not have all that its cluster has acknowledged, if it is known.
func (s *store) usable(member uint64) error {
	if m := s.cluster.Member(types.ID(member)); m != nil && m.IsLearner {
		return fmt.Errorf("%w: member %x is a learner, which may lack acknowledged writes. Use the directory of a voting member", ErrRefused, member)
	}
	return nil
}

// close writes everything.
func (s *store) close() error {
	s.lessor.Stop()
	s.backend.ForceCommit()
	return errors.Join(s.users.Close(), s.kv.Close(), s.backend.Close())
}

// stopped is the raft of a member that does not run. Its answers are only in answers of requests, which nobody reads.
type stopped struct{}

func (stopped) MemberID() types.ID     { return 0 }
func (stopped) Leader() types.ID       { return 0 }
func (stopped) CommittedIndex() uint64 { return 0 }
func (stopped) AppliedIndex() uint64   { return 0 }
func (stopped) Term() uint64           { return 0 }
func (stopped) ForceSnapshot()         {}

// wait waits until a compaction has deleted what it compacts.
func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
