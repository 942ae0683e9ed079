package snapshottest

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

// Request returns a request that saves content to store, with an attempt that began a minute ago.
func Request(t testing.TB, store objstore.Store, content []byte, change func(*save.Request)) save.Request {
	t.Helper()
	r := save.Request{
		Source: &Source{Content: content}, Store: store, Key: Key, SpoolDir: t.TempDir(),
		Cluster:     snapshot.Cluster{Namespace: "ns", Name: "example", UID: "3b1f", ID: "0000000000000001"},
		EtcdVersion: "3.7.3", Time: Noon, Tool: "test",
		Attempt: "attempt-1", Since: time.Now().Add(-time.Minute), MemberIDs: []uint64{OtherMember + 1, Member},
	}
	if change != nil {
		change(&r)
	}
	return r
}

// Forgetful stores one key twice, as a client does if the first answer is lost.
type Forgetful struct {
	objstore.Store
	Key string
}

func (f Forgetful) Put(ctx context.Context, key string, body io.Reader) error {
	if key != f.Key {
		return f.Store.Put(ctx, key, body)
	}
	var content bytes.Buffer
	if err := f.Store.Put(ctx, key, io.TeeReader(body, &content)); err != nil {
		return err
	}
	return f.Store.Put(ctx, key, &content)
}
