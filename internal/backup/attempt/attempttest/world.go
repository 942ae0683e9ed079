// Package attempttest has a member and a store, for tests of what attempts do.
package attempttest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/internal/backup/attempt"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// World is one healthy member, and a directory as the store.
type World struct {
	*attempt.Job
	T     *testing.T
	Store objstore.Store
	mu    sync.Mutex // several attempts may run at the same time
	// Saves are the snapshot requests that were made.
	Saves []save.Request
	// Opened is the access of the store that was opened last.
	Opened connect.Access
	// Content is the number of keys in each snapshot.
	Content int64
}

// NewWorld returns a world whose Kubernetes has these Secrets.
func NewWorld(t *testing.T, secrets ...*corev1.Secret) *World {
	t.Helper()
	store, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	known := fake.NewClientBuilder().WithScheme(scheme)
	for _, s := range secrets {
		known = known.WithObjects(s)
	}
	w := &World{T: t, Store: store}
	c := &clients.Clients{
		Secrets: known.Build(), Now: func() time.Time { return statetest.T0 },
		Probe: func(context.Context, []string, ask.Access) []ask.Answer {
			return []ask.Answer{clientstest.Member("a", 41)}
		},
		Source: func(string, ask.Access) save.Source { return nil },
		Open: func(_ context.Context, l connect.Access) (objstore.Store, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.Opened = l
			return w.Store, nil
		},
	}
	w.Job = &attempt.Job{Tester: &verify.Tester{Clients: c, Spool: spool.New(t.TempDir(), spool.Options{}), Tests: queue.NewTests(1, 0, dbfile.TryRestore)}, Save: w.saved}
	return w
}

// saved stores an object and its manifest without looking at etcd.
func (w *World) saved(ctx context.Context, r save.Request) (save.Saved, error) {
	w.mu.Lock()
	w.Saves = append(w.Saves, r)
	w.mu.Unlock()
	m := snapshot.Manifest{
		FormatVersion: snapshot.FormatVersion, Cluster: r.Cluster, EtcdVersion: r.EtcdVersion, Revision: r.MinRevision + 1, Keys: w.Content,
		Size: 4, SHA256: strings.Repeat("0", 64), CreatedAt: r.Time.UTC(), Attempt: r.Attempt, Backup: r.Backup, NoQuorum: r.NoQuorum,
	}
	content, err := m.Encode()
	if err != nil {
		return save.Saved{}, err
	}
	err = errors.Join(w.Store.Put(ctx, r.Key, strings.NewReader("data")), w.Store.Put(ctx, snapshot.ManifestKey(r.Key), strings.NewReader(string(content))))
	return save.Saved{Manifest: m}, err
}

// Attempt runs one attempt for a State.
func (w *World) Attempt(s state.State) state.Result {
	w.T.Helper()
	return w.Run(w.T.Context(), state.JobSpecOf(s), &queue.Progress{})
}

// Keys returns the keys of all objects of the store.
func (w *World) Keys() []string {
	w.T.Helper()
	var keys []string
	for object, err := range w.Store.List(w.T.Context(), "") {
		if err != nil {
			w.T.Fatal(err)
		}
		keys = append(keys, object.Key)
	}
	return keys
}
