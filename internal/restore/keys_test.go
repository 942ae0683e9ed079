package restore

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/restore/keys"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// Reading a snapshot takes 20 minutes. If the comparison had the time of its beginning, the patience for the safety snapshot would be over before the
// first attempt, and after one short fault the keys would be written without it.
func TestTheComparisonHasTheTimeOfItsEnd(t *testing.T) {
	now := time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)
	r := &reader{
		now: func() time.Time { return now }, access: &access{client: fake.NewClientBuilder().Build(), identity: allowing("ns")},
		read: func(context.Context, Asked) (Found, error) {
			now = now.Add(20 * time.Minute)
			return Found{Keys: &v1beta2.PrefixesStatus{Revision: 7}}, nil
		},
	}
	key := worker.Key{UID: "uid"}
	key.Object.Namespace, key.Object.Name = "ns", "keys"
	proof, _ := r.prove(t.Context(), key, steps.Verify{Source: v1beta2.RestoreSource{StorageType: v1beta2.StorageS3, Bucket: "b", Key: "k"}, Keys: &state.KeysOrder{}}, &turns.Turn{})
	if proof.Progress != state.ProofDone || !proof.Keys.Time.Time.Equal(now) {
		t.Errorf("%+v", proof)
	}
}

// hanging is a member that answers the keepalives and no read of keys.
type hanging struct{}

func (hanging) Keys(ctx context.Context, _ etcd.KeyRange) (etcd.Page, error) {
	<-ctx.Done()
	return etcd.Page{}, context.Cause(ctx)
}

func (hanging) ApplyIfUnchanged(ctx context.Context, _ ...etcd.Change) (bool, error) {
	<-ctx.Done()
	return false, context.Cause(ctx)
}

// A store that sends nothing is ended after five minutes if others wait for its worker or its space. A member that does the same keeps them for more than an hour, for
// a large snapshot up to a day. The members of two namespaces keep all three workers.
func TestAMemberThatHangsDoesNotKeepAWorkerForHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, limit := limitReading(t.Context(), func() bool { return true }) // as Spool.Prove, and others wait
		defer limit.stop()
		limit.begin(20 << 30) // as Spool.readWhole
		began := time.Now()
		none := dbfile.NewEntries(bytes.NewReader(nil), bytes.NewReader(nil), 0)
		_, err := keys.Run(ctx, hanging{}, none, keys.Order{Prefixes: []string{"/a/"}}) // as Spool.keys
		if waited := time.Since(began); waited > 15*time.Minute {
			t.Errorf("it held the worker for %s: %v", waited, err)
		}
	})
}

// zeros are the values of a snapshot.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) { clear(p); return len(p), nil }

// present is a cluster that has one key.
type present struct{}

func (present) Keys(context.Context, etcd.KeyRange) (etcd.Page, error) {
	return etcd.Page{Revision: 9, Keys: []etcd.KeyValue{{Key: []byte("/a/1"), Value: []byte("x"), ModRevision: 2}}}, nil
}

func (present) ApplyIfUnchanged(context.Context, ...etcd.Change) (bool, error) { return true, nil }

// A crafted snapshot has a value of 240 MiB: a page of a tree may have 256 MiB. The child has a limit of memory, and this process reads the whole value
// only to compare it with one of another length. etcd accepts 1.5 MiB.
func TestAValueThatNoEtcdAcceptsIsNotReadByTheOperator(t *testing.T) {
	const size = 240 << 20
	index := append([]byte{4}, "/a/1\x00\x00"...)
	index = binary.AppendUvarint(index, size)
	heaptest.Bound(t, 32, func() {
		entries := dbfile.NewEntries(bytes.NewReader(index), zeros{}, size)
		if _, err := keys.Run(t.Context(), present{}, entries, keys.Order{Prefixes: []string{"/a/"}}); err != nil {
			t.Log(err)
		}
	})
}
