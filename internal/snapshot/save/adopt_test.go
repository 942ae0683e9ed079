package save_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// hooked calls before, or refuses a write, at the beginning of each Put.
type hooked struct {
	objstore.Store
	before func(key string) error
	read   *int64
}

func (h hooked) Put(ctx context.Context, key string, body io.Reader) error {
	if h.before != nil {
		if err := h.before(key); err != nil {
			return err
		}
	}
	return h.Store.Put(ctx, key, body)
}

func (h hooked) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := h.Store.Get(ctx, key)
	if err != nil || h.read == nil {
		return body, err
	}
	return &countedBody{ReadCloser: body, read: h.read}, nil
}

// countedBody counts the bytes that were read of it.
type countedBody struct {
	io.ReadCloser
	read *int64
}

func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	*c.read += int64(n)
	return n, err
}

// Two EtcdBackups of a cluster may share a folder. If they take the same revision in the same second, both have the same key and the same
// bytes. If the snapshot counted for both, the retention of the first one would delete the snapshot of the second one.
func TestASnapshotBelongsToOneEtcdBackupOnly(t *testing.T) {
	content := dbfiletest.New(t, snapshottest.Member).Put(30, 200).Snapshot()
	for name, at := range map[string]string{"the other one finishes before the object": snapshottest.Key, "the other one finishes before the manifest": snapshot.ManifestKey(snapshottest.Key)} {
		t.Run(name, func(t *testing.T) {
			store := snapshottest.NewBucket(t)
			first := snapshottest.Request(t, store, content, func(r *save.Request) { r.Attempt, r.Backup = "uid-a/1", "hourly" })
			second := snapshottest.Request(t, nil, content, func(r *save.Request) { r.Attempt, r.Backup = "uid-b/1", "monthly" })
			ran := false
			second.Store = hooked{Store: store, before: func(k string) error {
				if k != at || ran {
					return nil
				}
				ran = true
				_, err := save.Snapshot(t.Context(), first)
				if at == snapshot.ManifestKey(snapshottest.Key) && errors.Is(err, fs.ErrExist) {
					return nil // the object is that of the second one
				}
				return err
			}}
			saved, err := save.Snapshot(t.Context(), second)
			m, readErr := snapshot.ReadManifest(t.Context(), store, snapshottest.Key, snapshot.Anyone)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if err == nil && (saved.Manifest.Backup != "monthly" || m.Backup != "monthly") {
				t.Errorf("the EtcdBackup monthly reports a snapshot whose manifest names %s", m.Backup)
			}
			if err != nil && (!errors.Is(err, fs.ErrExist) || m.Backup != "hourly") {
				t.Errorf("the manifest names %s, and the second Save failed with %v", m.Backup, err)
			}
		})
	}
}

// A snapshot that was taken without a quorum may lack acknowledged writes. A restore must not take it for a complete one.
func TestASnapshotWithoutQuorumKeepsItsMarkIfTheManifestWasNotWritten(t *testing.T) {
	store := snapshottest.NewBucket(t)
	content := snapshottest.Database(t, snapshottest.Member, 30)
	broken := hooked{Store: store, before: func(k string) error {
		if strings.HasSuffix(k, ".json") && !snapshot.IsDraft(k) {
			return errors.New("503")
		}
		return nil
	}}
	first := snapshottest.Request(t, broken, content, func(r *save.Request) { r.NoQuorum, r.Again = true, true })
	if _, err := save.Snapshot(t.Context(), first); err == nil {
		t.Fatal("the manifest was written")
	}
	saved, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, content, func(r *save.Request) { r.Again = true }))
	if err != nil || !saved.Found || !saved.Manifest.NoQuorum {
		t.Errorf("found %v, NoQuorum %v, error %v", saved.Found, saved.Manifest.NoQuorum, err)
	}
	for _, name := range store.Keys() {
		if snapshot.IsDraft(name) {
			t.Errorf("the draft %s is left", name)
		}
	}
}

// The address of a cluster may lead to another cluster by the time the stream begins. Its data must not be stored under the first one's name.
func TestSaveRejectsTheSnapshotOfAnotherCluster(t *testing.T) {
	store := snapshottest.NewBucket(t)
	_, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, snapshottest.Database(t, snapshottest.OtherMember, 30), func(r *save.Request) { r.MemberIDs = []uint64{snapshottest.Member} }))
	if !errors.Is(err, snapshot.ErrSource) || len(store.Keys()) > 0 {
		t.Errorf("error %v, objects %q", err, store.Keys())
	}
	if _, err = save.Snapshot(t.Context(), snapshottest.Request(t, store, snapshottest.Database(t, snapshottest.OtherMember, 30), func(r *save.Request) { r.MemberIDs = nil })); err != nil {
		t.Errorf("without known members: %v", err)
	}
}

// An object of any size may be in place of a one-shot. If its check filled the disk of the node, the kubelet would evict the operator, and
// all other attempts would fail.
func TestTheCheckOfAForeignObjectKeepsTheLimitOfTheSpool(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		change func(*save.Request)
		exists bool
	}{
		"it may be of an earlier try, so the operator tries again": {func(*save.Request) {}, false},
		"it is older than the EtcdBackup":                          {func(r *save.Request) { r.Since = time.Now().Add(time.Hour) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			store, read := snapshottest.NewBucket(t), int64(0)
			store.Write(snapshottest.Key, make([]byte, 64*mib))
			dir := t.TempDir()
			_, err := save.Snapshot(t.Context(), snapshottest.Request(t, hooked{Store: store, read: &read}, snapshottest.Database(t, snapshottest.Member, 10), func(r *save.Request) {
				r.SpoolDir, r.Spool, r.Expected = dir, spool.New(dir, spool.Options{Limit: 16 * mib}).Of("ns"), mib
				c.change(r)
			}))
			if errors.Is(err, fs.ErrExist) != c.exists || errors.Is(err, spool.ErrTooSmall) == c.exists || read > 20*mib {
				t.Errorf("%d MiB were read with a limit of 16 MiB, and the error is %v", read/mib, err)
			}
		})
	}
}

// The operator was evicted after the upload and before the manifest. The disk of the node is still short. A one-shot ended for good, although
// its complete snapshot was in the store.
func TestASnapshotWithoutManifestIsCheckedAgainWhenTheDiskHasRoom(t *testing.T) {
	store := snapshottest.NewBucket(t)
	content := snapshottest.Database(t, snapshottest.Member, 3000)
	broken := hooked{Store: store, before: func(name string) error {
		if strings.HasSuffix(name, ".json") && !snapshot.IsDraft(name) {
			return errors.New("the operator was killed")
		}
		return nil
	}}
	if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, broken, content, func(r *save.Request) { r.Again = true })); err == nil {
		t.Fatal("the manifest was written")
	}
	dir := t.TempDir()
	again := func(options spool.Options) error {
		_, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, content, func(r *save.Request) {
			r.Again, r.SpoolDir, r.Spool, r.Expected = true, dir, spool.New(dir, options).Of("ns"), int64(len(content))
		}))
		return err
	}
	if err := again(spool.Options{KeepFree: 100}); errors.Is(err, fs.ErrExist) || !errors.Is(err, spool.ErrTooSmall) {
		t.Errorf("with a short disk: %v", err)
	}
	if err := again(spool.Options{}); err != nil {
		t.Errorf("with a disk that has room: %v", err)
	}
}
