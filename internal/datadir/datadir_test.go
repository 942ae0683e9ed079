package datadir

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

var rangeAll = mvcc.RangeOptions{}

// A user would lose acknowledged writes, or get writes that were never acknowledged and that the next leader had replaced.
func TestExactlyTheCommittedEntriesAreApplied(t *testing.T) {
	for name, c := range map[string]struct {
		voters int
		write  func(*member)
		want   map[string]string
	}{
		"an entry of which no record says that it is committed": {3, func(m *member) {
			m.save(6, put(5, 1, "a", "1"), put(6, 1, "b", "1"), put(7, 1, "c", "1"))
		}, map[string]string{"a": "1", "b": "1"}},
		"an entry that a new leader replaced": {3, func(m *member) {
			m.save(5, put(5, 1, "a", "1"), put(6, 1, "b", "1"), put(7, 1, "c", "1"))
			m.save(6, put(6, 2, "b", "2"))
		}, map[string]string{"a": "1", "b": "2"}},
		"an entry that is committed by a later record": {3, func(m *member) {
			m.save(4, put(5, 1, "a", "1"))
			m.save(5)
		}, map[string]string{"a": "1"}},
		"a member without others, of which each entry is committed": {1, func(m *member) {
			m.save(4, put(5, 1, "a", "1"))
		}, map[string]string{"a": "1"}},
		"a member that was without others until it added one": {1, func(m *member) {
			m.save(4, put(5, 1, "a", "1"), change(6, raftpb.ConfChangeAddNode, 0xf), put(7, 1, "b", "1"))
		}, map[string]string{"a": "1"}},
		"a member whose others were removed": {2, func(m *member) {
			m.save(6, put(5, 1, "a", "1"), change(6, raftpb.ConfChangeRemoveNode, self+1), put(7, 1, "b", "1"))
		}, map[string]string{"a": "1", "b": "1"}},
		"entries that change no key": {3, func(m *member) {
			ofTwo := protowire.AppendString(protowire.AppendTag([]byte{8, 1}, 2, protowire.BytesType), "PUT")
			m.save(8, &raftpb.Entry{Index: new(uint64(5)), Term: new(uint64(1))}, &raftpb.Entry{Index: new(uint64(6)), Term: new(uint64(1)), Data: ofTwo},
				entry(7, 1, &pb.InternalRaftRequest{Authenticate: &pb.InternalAuthenticateRequest{Name: "u", SimpleToken: "t"}}), put(8, 1, "a", "1"))
		}, map[string]string{"a": "1"}},
		"no entry": {3, func(*member) {}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMember(t, c.voters, false)
			c.write(m)
			result, got, err := m.killed().snapshot()
			if err != nil {
				t.Fatal(err)
			}
			delete(got, "old")
			if !maps.Equal(got, c.want) {
				t.Errorf("the snapshot has %v, want %v", got, c.want)
			}
			if result.MemberID != self || result.ClusterID != 0xc || result.Revision != result.Base+int64(len(c.want)) {
				t.Errorf("%+v", result)
			}
		})
	}
}

// The writes of the last 100 ms may be missing. A user who is not told so takes the restored cluster for complete.
func TestTheResultNamesWhatIsLeftOut(t *testing.T) {
	empty := func(index uint64) *raftpb.Entry { return &raftpb.Entry{Index: &index, Term: new(uint64(1))} }
	for name, c := range map[string]struct {
		entries           []*raftpb.Entry
		leftOut, revision int64 // revision counts from that of the snapshot
	}{
		"nothing":                        {nil, 0, 0},
		"two writes":                     {[]*raftpb.Entry{put(6, 1, "b", "1"), put(7, 1, "c", "1")}, 2, 1},
		"the empty entry of a leader":    {[]*raftpb.Entry{empty(6)}, 1, 0},
		"a write after such an entry":    {[]*raftpb.Entry{empty(6), put(7, 1, "b", "1")}, 2, 1},
		"a lease whose end deletes keys": {[]*raftpb.Entry{entry(6, 1, &pb.InternalRaftRequest{LeaseRevoke: &pb.LeaseRevokeRequest{ID: 1}})}, 1, 1},
		"a lease":                        {[]*raftpb.Entry{entry(6, 1, &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{ID: 1, TTL: 60}})}, 1, 0},
		"a change of the members":        {[]*raftpb.Entry{change(6, raftpb.ConfChangeAddNode, 0xf)}, 1, 0},
	} {
		m := newMember(t, 3, false)
		m.save(5, append([]*raftpb.Entry{put(5, 1, "a", "1")}, c.entries...)...)
		result, _, err := m.killed().snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if c.revision > 0 {
			c.revision += result.Revision
		}
		if result.LeftOut != c.leftOut || result.FirstLeftOut != c.revision {
			t.Errorf("%s: %+v, want %d entries from revision %d on", name, result, c.leftOut, c.revision)
		}
	}
}

// etcd begins a new file after 64 MB. Without the files after the first one, the newest writes would be missing.
func TestALogOfSeveralFilesIsReadToItsEnd(t *testing.T) {
	defer func(size int64) { wal.SegmentSizeBytes = size }(wal.SegmentSizeBytes)
	wal.SegmentSizeBytes = 4 << 10
	m := newMember(t, 3, false)
	value := strings.Repeat("x", 1000)
	for i := uint64(5); i < 60; i++ {
		m.save(i, put(i, 1, fmt.Sprintf("key-%d", i), value))
	}
	m.killed()
	files, err := filepath.Glob(filepath.Join(m.path, "member", "wal", "*.wal"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	result, got, err := m.snapshot()
	if err != nil || len(got) != 56 || result.Entries != 55 {
		t.Fatalf("%d keys, %+v, error %v", len(got), result, err)
	}
	// etcd deletes files that a snapshot made superfluous. Those before the last one with entry 5 are not needed.
	if err := os.Remove(files[3]); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.snapshot(); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "missing between") {
		t.Errorf("a file is missing: %v", err)
	}
	for _, file := range files[:3] {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := m.snapshot(); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "begins with entry") {
		t.Errorf("the first files are missing: %v", err)
	}
}

// A restore from such a directory would lose writes, and report success.
func TestADirectoryThatMayLackWritesIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		learner bool
		write   func(*member)
		after   func(*member)
		says    string
	}{
		"of a learner":                 {learner: true, says: "is a learner"},
		"a gap":                        {write: func(m *member) { m.save(7, put(6, 1, "a", "1"), put(7, 1, "b", "1")) }, says: "does not continue the database: after entry 4, it has entry 6"},
		"the end is missing":           {write: func(m *member) { m.save(9, put(5, 1, "a", "1")) }, says: "ends with entry 5, but entry 9 was committed"},
		"of another term":              {write: func(m *member) { m.save(4, put(4, 2, "old", "other")) }, says: "has term 2 in the write-ahead log and term 1"},
		"older than the database":      {write: func(m *member) { m.save(3, put(3, 2, "old", "other")) }, says: "ends with entry 3, but the database has entry 4"},
		"while a snapshot is received": {write: func(m *member) { m.received(9); m.save(9) }, says: "received a snapshot of its leader (entry 9)"},
		"entries after that snapshot":  {write: func(m *member) { m.received(9); m.save(10, put(10, 1, "a", "1")) }, says: "received a snapshot of its leader (entry 9)"},
		"a committed entry twice":      {write: func(m *member) { m.save(5, put(5, 1, "a", "1")); m.save(5, put(5, 2, "a", "2")) }, says: "entry 5 twice"},
		"a request of a newer etcd":    {write: func(m *member) { m.save(5, entry(5, 1, &pb.InternalRaftRequest{})) }, says: "cannot apply entry 5"},
		"an entry of another type": {write: func(m *member) {
			m.save(5, &raftpb.Entry{Index: new(uint64(5)), Type: new(raftpb.EntryType_EntryConfChangeV2)})
		}, says: "of the type EntryConfChangeV2"},
		"no log": {after: func(m *member) { m.must(os.RemoveAll(filepath.Join(m.path, "member", "wal"))) }, says: "--wal-dir"},
		"an empty log": {after: func(m *member) {
			m.must(os.RemoveAll(filepath.Join(m.path, "member", "wal")))
			m.must(os.Mkdir(filepath.Join(m.path, "member", "wal"), 0o700))
		}, says: "has no file"},
		"a damaged log": {after: func(m *member) {
			m.damage("member/wal/*.wal", func(c []byte) int { return bytes.Index(c, []byte("log")) })
		}, says: "is damaged"},
		"a damaged length in the log": {after: func(m *member) {
			m.damage("member/wal/*.wal", func(c []byte) int { return record(c, 4) + 5 })
		}, says: "is damaged"},
		"a damaged database": {after: func(m *member) { m.damage("member/snap/db", func([]byte) int { return 0x1014 }) }, says: "its database is damaged"},
		"an empty database":  {after: func(m *member) { m.must(os.Truncate(filepath.Join(m.path, "member/snap/db"), 0)) }, says: "member/snap/db is empty"},
		"a half database":    {after: func(m *member) { m.must(os.Truncate(filepath.Join(m.path, "member/snap/db"), 0x3000)) }, says: "its database is damaged"},
		"no database":        {after: func(m *member) { m.must(os.Remove(filepath.Join(m.path, "member/snap/db"))) }, says: "has the file member/snap/db"},
		"a pipe as database": {after: func(m *member) { m.replace("member/snap/db", mkfifo) }, says: "no regular file"},
		"a pipe in the log":  {after: func(m *member) { m.replace("member/wal/0000000000000000-0000000000000000.wal", mkfifo) }, says: "no regular file"},
		"the log of another": {after: func(m *member) { m.swapLog(3) }, says: "ends with entry 3, but the database has entry 4"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMember(t, 3, c.learner)
			if c.write != nil {
				c.write(m)
			}
			m.killed()
			if c.after != nil {
				c.after(m)
			}
			_, _, err := m.snapshot()
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("want %q, but got: %v", c.says, err)
			}
		})
	}
}

// record returns where a record of a log begins: with its length in 8 bytes, whose highest one has the padding.
func record(log []byte, number int) int {
	at := 0
	for range number {
		length := binary.LittleEndian.Uint64(log[at:])
		at += 8 + int(length&(1<<56-1))
		if length>>63 == 1 {
			at += int(length >> 56 & 7)
		}
	}
	return at
}

// damage changes a byte of a file.
func (m *member) damage(pattern string, at func([]byte) int) {
	m.t.Helper()
	files, err := filepath.Glob(filepath.Join(m.path, filepath.FromSlash(pattern)))
	m.must(err)
	content, err := os.ReadFile(files[0])
	m.must(err)
	content[at(content)] ^= 0xff
	m.must(os.WriteFile(files[0], content, 0o600))
}

func (m *member) replace(name string, by func(string) error) {
	m.t.Helper()
	path := filepath.Join(m.path, filepath.FromSlash(name))
	m.must(os.Remove(path))
	m.must(by(path))
}

// swapLog takes the log of another member, which has fewer entries.
func (m *member) swapLog(entries int) {
	m.t.Helper()
	of := filepath.Join(m.path, "member", "wal")
	m.must(os.RemoveAll(of))
	log, err := wal.Create(nil, of, []byte{8, 11})
	m.must(err)
	var all []*raftpb.Entry
	for i := range entries {
		all = append(all, put(uint64(i+1), 1, "old", "other"))
	}
	m.must(log.Save(&raftpb.HardState{Term: new(uint64(1)), Commit: new(uint64(entries))}, all))
	m.must(log.Close())
}

// The write of the last record is interrupted if a node loses its power. etcd has not acknowledged it, and starts without it.
func TestARecordThatWasHalfWrittenIsLeftOut(t *testing.T) {
	m := newMember(t, 3, false)
	m.save(5, put(5, 1, "a", strings.Repeat("x", 2000)))
	m.save(6, put(6, 1, "b", strings.Repeat("y", 2000)))
	m.killed()
	files, _ := filepath.Glob(filepath.Join(m.path, "member", "wal", "*.wal"))
	content, err := os.ReadFile(files[0])
	m.must(err)
	at := bytes.Index(content, []byte(strings.Repeat("y", 2000))) // zero from the next sector on
	at = (at/512 + 1) * 512
	clear(content[at:])
	m.must(os.WriteFile(files[0], content, 0o600))
	result, got, err := m.snapshot()
	if err != nil || got["a"] == "" || got["b"] != "" || result.Entries != 1 {
		t.Errorf("%v, %+v, error %v", len(got), result, err)
	}
}

// The volume may be the last copy of the data. What is written to it, or locked in it, may be the end of that copy.
func TestTheDirectoryIsOnlyRead(t *testing.T) {
	m := newMember(t, 3, false)
	m.save(5, put(5, 1, "a", "1"))
	m.killed()
	before := m.content()
	if _, _, err := m.snapshot(); err != nil {
		t.Fatal(err)
	}
	if after := m.content(); !maps.Equal(before, after) {
		t.Errorf("the files were\n%v\nand are\n%v", before, after)
	}
}

// content is the name, time and SHA-256 of each file.
func (m *member) content() map[string]string {
	m.t.Helper()
	found := map[string]string{}
	m.must(filepath.WalkDir(m.path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		found[path] = info.ModTime().String()
		if entry.IsDir() {
			return nil
		}
		content, err := os.ReadFile(path)
		found[path] += fmt.Sprintf(" %x", sha256.Sum256(content))
		return err
	}))
	return found
}

// Of two members, one may lack the newest writes. Only the user knows which one to take.
func TestTheFolderOfAMemberIsFoundInAVolume(t *testing.T) {
	m := newMember(t, 3, false).killed()
	volume := filepath.Dir(m.path)
	m.must(os.Mkdir(filepath.Join(volume, "lost+found"), 0o700))
	d, err := Open(volume, ".")
	if err != nil || d.Path() != m.path {
		t.Fatalf("%+v, error %v", d, err)
	}
	m.must(d.Close())
	m.must(os.CopyFS(filepath.Join(volume, "other"), os.DirFS(m.path)))
	if _, err := Open(volume, "."); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "several members: data, other") {
		t.Errorf("two members: %v", err)
	}
	if _, err := Open(volume, "lost+found"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "member/snap/db") {
		t.Errorf("no member: %v", err)
	}
}

// Another party may have written the volume. A link out of it would read files of the container.
func TestALinkDoesNotLeadOutOfTheDirectory(t *testing.T) {
	m := newMember(t, 3, false).killed()
	secret := filepath.Join(t.TempDir(), "secret")
	m.must(os.WriteFile(secret, []byte("secret"), 0o600))
	m.replace("member/snap/db", func(path string) error { return os.Symlink(secret, path) })
	if _, err := Open(m.path, "."); err == nil || strings.Contains(err.Error(), "secret\n") {
		t.Errorf("a link is followed: %v", err)
	}
	other := newMember(t, 3, false).killed()
	m.must(os.Symlink(other.path, filepath.Join(m.path, "folder")))
	for _, folder := range []string{"folder", "..", other.path} {
		if d, err := Open(m.path, folder); err == nil {
			t.Errorf("%s leads out of the volume, and is opened: %s", folder, d.Path())
		}
	}
}

// The record says that it has 1 TiB. Only the process that reads it may end because of that.
func TestARecordOfAnySizeEndsOnlyTheChild(t *testing.T) {
	m := newMember(t, 3, false)
	m.save(5, put(5, 1, "a", "1"))
	m.killed()
	files, _ := filepath.Glob(filepath.Join(m.path, "member", "wal", "*.wal"))
	content, err := os.ReadFile(files[0])
	m.must(err)
	end := 0
	for n := 0; binary.LittleEndian.Uint64(content[end:]) > 0; n++ {
		end = record(content, n)
	}
	binary.LittleEndian.PutUint64(content[end:], 1<<40)
	m.must(os.WriteFile(files[0], content, 0o600))
	m.must(os.Truncate(files[0], 1<<41))
	_, _, err = m.snapshot()
	if !errors.Is(err, dbfile.ErrMemory) {
		t.Errorf("want that the child needs too much memory: %v", err)
	}
}

// Another party may fill a folder with names, which all would be in the memory of the program.
func TestAFolderWithTooManyNamesIsRefused(t *testing.T) {
	m := newMember(t, 3, false).killed()
	for i := range maxNames + 1 {
		m.must(os.WriteFile(filepath.Join(m.path, "member", "wal", fmt.Sprint(i)), nil, 0o600))
	}
	if _, _, err := m.snapshot(); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "more than 10000 files") {
		t.Errorf("want that the folder is refused: %v", err)
	}
}
