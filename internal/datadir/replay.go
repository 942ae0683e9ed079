package datadir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// Order names what is applied.
type Order struct {
	// Volume and Folder are where the data directory is. Only its log is read.
	Volume string `json:"volume"`
	Folder string `json:"folder"`
	// File is a copy of its database, with its SHA-256 at the end. Its pages were checked. Apply changes it.
	File string `json:"file"`
}

// Apply applies all that is committed in the log, and not in the database.
func Apply(ctx context.Context, o Order) (result Result, err error) {
	// The database is mapped into memory: turn a fault on it into a panic.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	l := &log{}
	defer func() {
		if p := recover(); p != nil { // the store may be locked, so it is not closed. This process ends
			err = fmt.Errorf("%w: etcd's code cannot apply entry %d of its write-ahead log: %w. If it is of a newer etcd than %s, take a snapshot with that one instead", ErrRefused, l.next, dbfile.Panicked(p), version.Version)
			if fault := dbfile.Fault(dbfile.Panicked(p)); errors.Is(fault, dbfile.ErrDisk) {
				err = fmt.Errorf("apply entry %d: %w", l.next, fault)
			}
		}
	}()
	root, err := openFolder(o.Volume, o.Folder)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = root.Close() }()
	s, err := openStore(o.File)
	if err != nil {
		return Result{}, err
	}
	l.after, l.term, l.next = s.index, s.term, s.index+1
	l.alone = s.alone
	l.apply = func(ctx context.Context, e *raftpb.Entry) error {
		result.Entries++
		return s.apply(ctx, e)
	}
	result.Base = s.revision()
	err = l.whole(ctx, root)
	if err == nil {
		err = s.usable(l.member.GetNodeID())
	}
	result.LeftOut = int64(len(l.held))
	if slices.ContainsFunc(l.held, writesKeys) {
		result.FirstLeftOut = s.revision() + 1
	}
	result.Revision, result.MemberID, result.ClusterID = s.revision(), l.member.GetNodeID(), l.member.GetClusterID()
	if err = errors.Join(err, s.close()); err != nil {
		return result, err
	}
	return result, dbfile.AppendTrailer(o.File)
}

// whole reads the log to its end.
func (l *log) whole(ctx context.Context, root *os.Root) error {
	segments, err := segmentsAfter(root, l.after)
	if err != nil {
		return err
	}
	if err := l.read(ctx, root, segments); err != nil {
		return err
	}
	return l.end(ctx)
}
