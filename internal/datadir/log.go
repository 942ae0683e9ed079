package datadir

import (
	"bytes"
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// log applies the entries of a write-ahead log that are committed and not in the database. A member writes an entry before it is committed, and
// may write another one in its place, so each entry is held until a later record says that it is committed. Few are held at a time.
type log struct {
	// after is the index of the last entry that the database has, and term is its term; 0 if the database does not have it (etcd 3.4).
	after, term uint64
	// next is the index of the next entry to apply, and held are the entries from it on.
	next uint64
	held []*raftpb.Entry
	// commit is the highest index that is committed, last the index with which the log ends, snapshot the highest index of a snapshot, and termAt
	// the term of the entry after, if the log has it.
	commit, last, snapshot, termAt uint64
	// metadata has the IDs of the member. It is the same in each file.
	metadata []byte
	member   pb.Metadata
	// apply applies an entry, and alone reports whether the member is the only voter.
	apply func(context.Context, *raftpb.Entry) error
	alone func(member uint64) bool
}

// record reads a record. The sum of the record was verified, so one that cannot be read was written by a program that is no etcd.
func (l *log) record(ctx context.Context, r *walpb.Record) error {
	unreadable := func(err error) error {
		return fmt.Errorf("%w: a record of the write-ahead log cannot be read: %w", ErrRefused, err)
	}
	switch r.GetType() {
	case wal.MetadataType:
		if l.metadata != nil && !bytes.Equal(l.metadata, r.Data) {
			return fmt.Errorf("%w: the write-ahead log has records of two members", ErrRefused)
		}
		l.metadata = bytes.Clone(r.Data)
		if err := proto.Unmarshal(l.metadata, &l.member); err != nil {
			return unreadable(err)
		}
	case wal.EntryType:
		e := &raftpb.Entry{}
		if err := proto.Unmarshal(r.Data, e); err != nil {
			return unreadable(err)
		}
		return l.entry(e)
	case wal.StateType:
		state := raftpb.HardState{}
		if err := proto.Unmarshal(r.Data, &state); err != nil {
			return unreadable(err)
		}
		l.commit = max(l.commit, state.GetCommit())
		return l.applyTo(ctx, l.commit)
	case wal.SnapshotType:
		s := walpb.Snapshot{}
		if err := proto.Unmarshal(r.Data, &s); err != nil {
			return unreadable(err)
		}
		l.snapshot, l.last = max(l.snapshot, s.GetIndex()), max(l.last, s.GetIndex())
	default:
		return unreadable(fmt.Errorf("its type is %d", r.GetType()))
	}
	return nil
}

// entry holds an entry. It takes the place of the one with the same index, and of all after that.
func (l *log) entry(e *raftpb.Entry) error {
	index := e.GetIndex()
	l.last = index
	switch {
	case index <= l.after:
		l.held, l.termAt = nil, 0
		if index == l.after {
			l.termAt = e.GetTerm()
		}
		return nil
	case index < l.next:
		return fmt.Errorf("%w: the write-ahead log has entry %d twice, although the first one was committed", ErrRefused, index)
	case index-l.next > uint64(len(l.held)):
		return l.missing(l.next+uint64(len(l.held)), index)
	}
	l.held = append(l.held[:index-l.next], e)
	return nil
}

// missing says why the entries from an index on, up to another one, are not there.
func (l *log) missing(from, to uint64) error {
	if l.snapshot >= from {
		return fmt.Errorf("%w: the member was stopped while it received a snapshot of its leader (entry %d), which its database does not have. Use the directory of another member", ErrRefused, l.snapshot)
	}
	return fmt.Errorf("%w: the write-ahead log does not continue the database: after entry %d, it has entry %d. They do not belong together, or were copied at different times. Use the directory of another member",
		ErrRefused, from-1, to)
}

// applyTo applies the entries up to an index.
func (l *log) applyTo(ctx context.Context, index uint64) error {
	for len(l.held) > 0 && l.next <= index {
		if err := l.applyNext(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *log) applyNext(ctx context.Context) error {
	e := l.held[0]
	l.held[0], l.held = nil, l.held[1:]
	if err := l.apply(ctx, e); err != nil {
		return fmt.Errorf("apply entry %d of the write-ahead log: %w", l.next, err)
	}
	l.next++
	return nil
}

// end applies what a member without any other voter has written, because each of its entries is committed when it is in the log. Then it
// compares the log with the database.
func (l *log) end(ctx context.Context) error {
	if err := l.applyTo(ctx, l.commit); err != nil {
		return err
	}
	for len(l.held) > 0 && l.alone(l.member.GetNodeID()) {
		if err := l.applyNext(ctx); err != nil {
			return err
		}
	}
	switch {
	case l.last < l.after:
		return fmt.Errorf("%w: the write-ahead log ends with entry %d, but the database has entry %d. They do not belong together, or were copied at different times. Use the directory of another member",
			ErrRefused, l.last, l.after)
	case l.term != 0 && l.termAt != 0 && l.term != l.termAt:
		return fmt.Errorf("%w: entry %d has term %d in the write-ahead log and term %d in the database, so they do not belong together. Use the directory of another member",
			ErrRefused, l.after, l.termAt, l.term)
	case l.snapshot >= l.next && l.snapshot <= l.commit:
		return l.missing(l.next, l.snapshot)
	case l.commit >= l.next:
		return fmt.Errorf("%w: the write-ahead log ends with entry %d, but entry %d was committed. Its end is missing. Use the directory of another member", ErrRefused, l.next-1, l.commit)
	}
	return nil
}
