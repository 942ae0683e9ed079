package copying

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/archive/follower"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// blocked is a store whose Put waits until its context ends.
type blocked struct{ objstore.Store }

func (blocked) Put(ctx context.Context, _ string, _ io.Reader) error {
	<-ctx.Done()
	return ctx.Err()
}

// A dead second location must delay nothing in the first one: neither an upload, nor a pass, nor the end of the process.
func TestAnArchiverNeverWaitsForTheSecondLocation(t *testing.T) {
	b := newCopyBench(t)
	open := b.job.Open
	b.job.Open = func(ctx context.Context, a connect.Access) (objstore.Store, error) {
		store, err := open(ctx, a)
		if a.Bucket == b.O.Copy.Bucket {
			store = blocked{store}
		}
		return store, err
	}
	p := New(b.job.copy)
	key := worker.Key{UID: "1"}
	p.Set(key, &b.spec)
	for i := range int64(3 * maxStored) {
		p.Offer(key, archiver.Status{Timeline: 1, Stored: archive.Point{Revision: 47 + i, At: b.now}, Safe: b.now.Add(time.Duration(i) * time.Second)})
	}
	c := p.known[key]
	c.mu.Lock()
	if n := len(c.stored); n > maxStored {
		t.Errorf("%d points are remembered", n)
	}
	c.mu.Unlock()
	if lag, _ := c.lag(archive.Chain{Timeline: 1, Last: 47}, b.now.Add(time.Hour)); lag != 0 { // nothing was copied yet, so it is not known
		t.Errorf("the lag is %s", lag)
	}
	if _, busy := p.Find(key); !busy {
		t.Error("no copier runs")
	}
	p.Set(key, nil)
	p.Stop()
	if view, busy := p.Find(key); view != nil || busy {
		t.Errorf("after the end, the view is %+v, busy %t", view, busy)
	}
}

func TestTheLagOfTheSecondLocationIsTheAgeOfTheOldestChangeThatItLacks(t *testing.T) {
	c := &Copier{news: make(chan struct{}, 1)}
	now := statetest.T0
	offer := func(revision, head int64, safe time.Duration) {
		c.offer(archiver.Status{Timeline: 1, Stored: archive.Point{Revision: revision}, Safe: now.Add(safe), Head: head})
	}
	at := func(revision int64) archive.Chain { return archive.Chain{Timeline: 1, Last: revision, At: now} }
	lags := func(revision int64, want time.Duration) {
		t.Helper()
		if got, known := c.lag(at(revision), now.Add(20*time.Second)); got != want || !known {
			t.Errorf("at revision %d, the lag is %s, known %t, want %s", revision, got, known, want)
		}
	}
	if _, known := c.lag(at(0), now); known {
		t.Error("the lag is known before anything was copied")
	}
	offer(10, 10, time.Second)
	c.reached(at(10), now)
	lags(10, 0)
	offer(15, 20, 5*time.Second)
	offer(20, 20, 10*time.Second)
	lags(10, 19*time.Second) // the first of them may be as old as the last safe time
	c.reached(at(15), now)
	lags(15, 15*time.Second)
	c.reached(at(20), now)
	lags(20, 0)
	offer(20, 25, 12*time.Second) // a change that the first location lacks, too
	c.reached(at(20), now)
	lags(20, 8*time.Second)
}

func TestAFailureOfACopyNamesTheLocationThatFails(t *testing.T) {
	b := newCopyBench(t)
	for _, test := range []struct {
		err    error
		reason string
		names  string
	}{
		{errors.Join(follower.ErrOtherCopy), v1beta2.ReasonArchiveFenced, b.O.Copy.Bucket},
		{objstore.Mark(errors.New("refused"), objstore.ErrNoBucket), v1beta2.ReasonBucketNotFound, b.O.Copy.Bucket},
		{ofSource(objstore.Mark(errors.New("refused"), objstore.ErrNoBucket)), v1beta2.ReasonBucketNotFound, b.O.Target.Bucket},
	} {
		f := classifyCopy(test.err, b.O)
		if f.Reason != test.reason || !strings.Contains(f.Message, test.names) {
			t.Errorf("%v: %+v, want %s and the bucket %s", test.err, f, test.reason, test.names)
		}
	}
}
