package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/etcdserver/cindex"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// member is the data directory of an etcd with the ID self. Its database has the entries up to inDatabase, of the term 1.
type member struct {
	t    *testing.T
	path string
	log  *wal.WAL
}

const self, inDatabase = 0xa, 4

// newMember makes the directory of a member of a cluster with so many voters. A learner is none of them.
func newMember(t *testing.T, voters int, learner bool) *member {
	t.Helper()
	m := &member{t: t, path: filepath.Join(t.TempDir(), "data")}
	m.must(os.MkdirAll(filepath.Join(m.path, "member", "snap"), 0o700))
	file := filepath.Join(m.path, filepath.FromSlash(databasePath))
	m.must(os.WriteFile(file, nil, 0o600))
	s, err := openStore(file)
	m.must(err)
	for i := range voters {
		s.cluster.AddMember(&membership.Member{ID: types.ID(self + i), RaftAttributes: membership.RaftAttributes{IsLearner: learner && i == 0}}, membership.ApplyBoth)
	}
	m.must(s.apply(t.Context(), put(inDatabase, 1, "old", "database")))
	cindex.UpdateConsistentIndexForce(s.backend.BatchTx(), inDatabase, 1)
	m.must(s.close())
	metadata, err := proto.Marshal(&pb.Metadata{NodeID: new(uint64(self)), ClusterID: new(uint64(0xc))})
	m.must(err)
	m.log, err = wal.Create(zap.NewNop(), filepath.Join(m.path, filepath.FromSlash(logPath)), metadata)
	m.must(err)
	var earlier []*raftpb.Entry
	for i := range uint64(inDatabase) {
		earlier = append(earlier, put(i+1, 1, "old", "log"))
	}
	m.save(inDatabase, earlier...)
	return m
}

func (m *member) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// save writes entries, and that all up to an index are committed.
func (m *member) save(commit uint64, entries ...*raftpb.Entry) {
	m.t.Helper()
	m.must(m.log.Save(&raftpb.HardState{Term: new(uint64(1)), Vote: new(uint64(self)), Commit: &commit}, entries))
}

func (m *member) received(index uint64) {
	m.t.Helper()
	m.must(m.log.SaveSnapshot(&walpb.Snapshot{Index: &index, Term: new(uint64(1)), ConfState: &raftpb.ConfState{}}))
}

// killed closes the files. Nothing more is written.
func (m *member) killed() *member {
	m.t.Helper()
	m.must(m.log.Close())
	return m
}

// entry is a request in the log.
func entry(index, term uint64, r *pb.InternalRaftRequest) *raftpb.Entry {
	r.Header = &pb.RequestHeader{ID: index}
	data, err := proto.Marshal(r)
	if err != nil {
		panic(err)
	}
	return &raftpb.Entry{Index: &index, Term: &term, Data: data}
}

func put(index, term uint64, key, value string) *raftpb.Entry {
	return entry(index, term, &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte(key), Value: []byte(value)}})
}

// change is a change of the members in the log.
func change(index uint64, kind raftpb.ConfChangeType, id uint64) *raftpb.Entry {
	context, err := json.Marshal(membership.ConfigChangeContext{Member: membership.Member{ID: types.ID(id)}})
	if err != nil {
		panic(err)
	}
	data, err := proto.Marshal(&raftpb.ConfChange{Type: &kind, NodeId: &id, Context: context})
	if err != nil {
		panic(err)
	}
	return &raftpb.Entry{Index: &index, Term: new(uint64(1)), Type: new(raftpb.EntryConfChange), Data: data}
}

// snapshot makes the snapshot as a caller does, and returns the values of its keys.
func (m *member) snapshot() (Result, map[string]string, error) {
	m.t.Helper()
	d, err := Open(m.path, ".")
	if err != nil {
		return Result{}, nil, err
	}
	file := filepath.Join(m.t.TempDir(), "snapshot.db")
	result, err := d.Snapshot(m.t.Context(), "ns", file, 512<<20)
	if err = errors.Join(err, d.Close()); err != nil {
		return result, nil, err
	}
	return result, valuesOf(m.t, file), nil
}

// valuesOf returns what the database of a snapshot has.
func valuesOf(t *testing.T, file string) map[string]string {
	t.Helper()
	s, err := openStore(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.kv.Range(t.Context(), []byte{0}, []byte{0xff}, rangeAll)
	values := map[string]string{}
	if err == nil {
		for _, kv := range all.KVs {
			values[string(kv.Key)] = string(kv.Value)
		}
	}
	if err := errors.Join(err, s.close()); err != nil {
		t.Fatal(fmt.Errorf("read %s: %w", file, err))
	}
	return values
}
