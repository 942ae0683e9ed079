package restore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// replaying reads each segment from the store as replay.Process does, and then computes for that long.
type replaying time.Duration

func (r replaying) Replay(ctx context.Context, o replay.Order) (replay.Result, error) {
	read := int64(0)
	for _, link := range o.Links {
		body, err := o.Store.Get(ctx, link.Key)
		if err != nil {
			return replay.Result{}, err
		}
		n, err := io.Copy(io.Discard, body)
		if err := errors.Join(err, body.Close()); err != nil {
			return replay.Result{}, err
		}
		select {
		case <-time.After(time.Duration(r)):
		case <-ctx.Done():
			return replay.Result{}, context.Cause(ctx)
		}
		read += n
		o.Progress(read)
	}
	return replay.Result{}, nil
}

// answering is a server that answers each request with a segment after a time.
type answering struct {
	objstore.Store
	after   time.Duration
	segment string
}

func (a answering) Get(ctx context.Context, _ string) (io.ReadCloser, error) {
	select {
	case <-time.After(a.after):
		return io.NopCloser(strings.NewReader(a.segment)), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// replayOf replays a number of segments in the slot, as an EtcdRestore of a namespace does.
func replayOf(ctx context.Context, s Spool, namespace, base string, store objstore.Store, segments int, size int64) error {
	point := source.Point{Store: store}
	for n := range segments {
		point.Links = append(point.Links, archive.Link{Key: fmt.Sprint(n), Header: archive.Header{Size: size}})
	}
	ctx, limit := limitReading(ctx, func() bool { return s.replays.slot.Crowds(namespace) })
	defer limit.stop()
	limit.begin(2*replay.SizeOf(replay.Order{Options: replay.Options{Path: base}}) + point.Bytes())
	_, err := s.replay(ctx, Asked{Namespace: namespace}, point, base, func(int64, int64) {})
	return err
}

// waited enters the slot for another namespace once, and returns for how long it waited.
func waited(t *testing.T, s Spool) time.Duration {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 48*time.Hour)
	defer cancel()
	leave, err := s.replays.slot.Enter(ctx, "other")
	if err != nil {
		t.Fatalf("the replay of another namespace waited %s: %v", time.Since(began), err)
	}
	leave()
	return time.Since(began)
}

// A tenant named a server of their own with 20,000 small segments, and it answered each request shortly before package pace ends the transfer. Or
// they wrote 1.4 GiB of segments that each gave the replay more time. A restore of another namespace waited for 10 hours, or for almost a day.
func TestAReplayHasALimitedTimeInTheSlotIfOthersWait(t *testing.T) {
	const mib = 1 << 20
	for name, test := range map[string]struct {
		store    answering
		computes time.Duration
		segments int
		size     int64
		most     time.Duration
	}{
		"it waits for its store":    {answering{after: 1900 * time.Millisecond, segment: "a small segment"}, 0, archive.MaxLinks, 1 << 30, 15 * time.Minute},
		"its segments give it time": {answering{segment: strings.Repeat("z", mib)}, 50 * time.Second, 1700, 64 * mib, 31 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := Spool{replays: replays{replaying(test.computes), turns.NewGate(1)}}
				ended := make(chan error, 1)
				go func() { ended <- replayOf(t.Context(), s, "crafted", "", test.store, test.segments, test.size) }()
				synctest.Wait()
				if got := waited(t, s); got > test.most {
					t.Errorf("the replay of another namespace waited %s", got)
				}
				if err := <-ended; !errors.Is(err, turns.ErrOthersWaited) {
					t.Errorf("it ended with: %v", err)
				}
			})
		})
	}
}

// A tenant repeated such a replay, and each attempt had more time than the one before. The others must not wait for a day again.
func TestARepeatedReplayHasALimitedTimeInTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Spool{replays: replays{replaying(50 * time.Second), turns.NewGate(1)}}
		store := answering{segment: strings.Repeat("z", 1<<20)}
		for n := range 6 {
			ended := make(chan error, 1)
			go func() { ended <- replayOf(t.Context(), s, "crafted", "", store, 1700, 64<<20) }()
			synctest.Wait()
			if got := waited(t, s); got > 4*time.Hour+time.Minute {
				t.Errorf("the replay of another namespace waited %s for attempt %d", got, n+1)
			}
			if err := <-ended; !errors.Is(err, turns.ErrOthersWaited) {
				t.Errorf("attempt %d ended with: %v", n+1, err)
			}
		}
	})
}

// Without more time for each attempt, a user whose database has 8 GiB could never restore it to a point in time while others restore. The replay
// takes more than two hours: its store answers in half a second, and each of 1000 segments of 8 MiB computes for 7 s.
func TestALargeRestoreSucceedsInTheEndAlthoughOthersAlwaysWait(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base.db")
	if err := errors.Join(os.WriteFile(base, nil, 0o600), os.Truncate(base, 8<<30)); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := Spool{replays: replays{replaying(7 * time.Second), turns.NewGate(1)}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		defer func() { cancel(); <-ended }()
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				if leave, err := s.replays.slot.Enter(ctx, "other"); err == nil {
					<-time.After(time.Second)
					leave()
				}
			}
		}()
		store := answering{after: 500 * time.Millisecond, segment: strings.Repeat("z", 1<<20)}
		for n := 1; ; n++ {
			err := replayOf(t.Context(), s, "honest", base, store, 1000, 8<<20)
			if err == nil {
				t.Logf("attempt %d succeeded", n)
				return
			}
			if n == 4 || !errors.Is(err, turns.ErrOthersWaited) {
				t.Fatalf("attempt %d: %v", n, err)
			}
		}
	})
}
