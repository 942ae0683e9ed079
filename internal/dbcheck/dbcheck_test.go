package dbcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/child"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
)

func write(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// roundTrip sends an answer through the pipe.
func roundTrip(t *testing.T, sent answer, got *answer) {
	t.Helper()
	content, err := json.Marshal(sent)
	if err != nil || len(content) > child.MaxAnswer {
		t.Fatalf("%d bytes, %v", len(content), err)
	}
	if err := json.Unmarshal(content, got); err != nil {
		t.Fatal(err)
	}
}

func TestTheChildReturnsWhatTheCheckFinds(t *testing.T) {
	good := dbfiletest.New(t, 0xfedcba9876543210).Put(1000, 10).Delete("key-000007").Alarm(3, 2).Snapshot()
	for name, content := range map[string][]byte{
		"a good snapshot": good,
		"half of it":      dbfiletest.Seal(good[:len(good)/2/4096*4096]),
		"no trailer":      good[:len(good)-32],
		"an empty file":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, content)
			want, wantErr := dbfile.Inspect(path)
			got, err := Process{Memory: smallMemory}.Inspect(t.Context(), path)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
			if fmt.Sprint(wantErr) != fmt.Sprint(err) {
				t.Errorf("error %v, want %v", err, wantErr)
			}
			for _, kind := range kinds {
				if errors.Is(err, kind) != errors.Is(wantErr, kind) {
					t.Errorf("error %v and %v differ in %v", err, wantErr, kind)
				}
			}
		})
	}
}

// A field that the pipe loses would be empty in a manifest, and compared with nothing.
func TestTheAnswerHasEachFieldOfTheCheck(t *testing.T) {
	info := dbfile.Info{
		Revision: 1, Keys: 2, Hash: math.MaxUint32, Size: 3, StorageVersion: "3.6.0", ClusterVersion: "3.5.0", MemberIDs: []uint64{math.MaxUint64},
		Auth: auth.State{Revision: math.MaxUint64, Enabled: auth.On}, Alarms: "NOSPACE",
	}
	for i := range reflect.ValueOf(info).NumField() {
		if reflect.ValueOf(info).Field(i).IsZero() {
			t.Fatalf("this test does not set %s", reflect.TypeFor[dbfile.Info]().Field(i).Name)
		}
	}
	var got answer
	roundTrip(t, answerOf(info, nil), &got)
	if diff := cmp.Diff(info, got.Info); diff != "" || got.err() != nil {
		t.Errorf("error %v, differs (-want +got):\n%s", got.err(), diff)
	}
}

func TestErrorsOfTheChildKeepTheirKindAndAreShort(t *testing.T) {
	for _, kind := range kinds {
		var got answer
		roundTrip(t, answerOf(dbfile.Info{}, fmt.Errorf("%s: %w", strings.Repeat("k", 1<<20), kind)), &got)
		if err := got.err(); !errors.Is(err, kind) || len(err.Error()) > 2010 {
			t.Errorf("%d bytes, error %.100v, want %v", len(err.Error()), err, kind)
		}
	}
}

// allocates returns how many bytes this process allocates while it calls f.
func allocates(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// One crafted file took the memory of the operator, and all snapshots of all namespaces ended with it.
func TestAHostileDatabaseTakesNoMemoryOfTheOperator(t *testing.T) {
	const tooFew = 4 << 20 // no operator gives a check so little
	chain := filepath.Join(t.TempDir(), "chain.db")
	dbfiletest.Chain(t, chain, 12, 128<<20)
	keys := write(t, dbfiletest.New(t, 1).Put(200_000, 1).Snapshot())
	for name, c := range map[string]struct {
		path   string
		memory int64
	}{
		"pages for all of its memory":              {chain, 256 << 20},
		"pages for more than its memory":           {chain, 96 << 20},
		"more keys than fit into its memory":       {keys, 44 << 20},
		"no memory to start with":                  {keys, tooFew},
		"pages without a limit but that of a page": {chain, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			if took := allocates(func() { _, err = Process{c.memory}.Inspect(t.Context(), c.path) }); took > 1<<20 {
				t.Errorf("the operator allocated %d KiB", took>>10)
			}
			// A child that cannot start a thread cannot tell its own limit from that of the node.
			if notStarted := errors.Is(err, dbfile.ErrNotChecked); !errors.Is(err, dbfile.ErrTooLarge) && !notStarted || notStarted && c.memory != tooFew {
				t.Errorf("error %v", err)
			}
			t.Log(err)
		})
	}
}

// A limit that the runtime has used up at the start would refuse good snapshots.
func TestGoodSnapshotsFitIntoTheSmallestMemory(t *testing.T) {
	for name, c := range map[string]struct {
		keys, value int
		memory      int64
	}{
		"the largest small file": {15_000, 400, smallMemory},
		"one with many keys":     {120_000, 1, minMemory},
	} {
		path := write(t, dbfiletest.New(t, 1).Put(c.keys, c.value).Snapshot())
		if info, err := (Process{c.memory}).Inspect(t.Context(), path); err != nil || info.Keys != int64(c.keys) {
			t.Errorf("%s: %d keys, error %v", name, info.Keys, err)
		}
	}
}

// What the node does to a child says nothing about the object. Without this, an EtcdRestore fails for good because the node had too
// little memory.
func TestTheNodeIsNotTheFaultOfTheFile(t *testing.T) {
	shell := func(script string) error { return exec.CommandContext(t.Context(), "/bin/sh", "-c", script).Run() }
	p := Process{Memory: 64 << 20}
	if err := p.died(shell("kill -9 $$"), ""); !errors.Is(err, dbfile.ErrNotChecked) || errors.Is(err, dbfile.ErrTooLarge) {
		t.Errorf("killed: error %v", err)
	}
	if err := p.died(shell("exit 2"), "runtime: failed to create new OS thread (have 2 already; errno=11)\n"); !errors.Is(err, dbfile.ErrNotChecked) {
		t.Errorf("no process left: error %v", err)
	}
	// Each was taken for a fault of the snapshot, and the restore of a good one failed for good.
	for script, diagnosis := range map[string]string{
		"kill -TERM $$": "", "kill -SYS $$": "", "kill -BUS $$": "", "kill -KILL $$": "", "exit 1": "the limit is refused", "exit 127": "",
		"exit 2": "runtime: epollcreate failed with 23\nfatal error: runtime: netpollinit failed\n",
	} {
		if err := p.died(shell(script), diagnosis); !errors.Is(err, dbfile.ErrNotChecked) || errors.Is(err, dbfile.ErrTooLarge) {
			t.Errorf("%s: %v", script, err)
		}
	}
	for _, diagnosis := range []string{"panic: runtime error: index out of range\n", "runtime: cannot allocate memory\n", "runtime: goroutine stack exceeds 1000000000-byte limit\n"} {
		if err := p.died(shell("exit 2"), diagnosis); !errors.Is(err, dbfile.ErrTooLarge) {
			t.Errorf("%s: %v", diagnosis, err)
		}
	}
	if err := p.died(shell("exit 2"), "fatal error: runtime: out of memory\n\ngoroutine 1"); !errors.Is(err, dbfile.ErrTooLarge) || strings.Contains(err.Error(), "goroutine") {
		t.Errorf("no memory: error %v", err)
	}
	if err := (Process{}).died(shell("kill -9 $$"), ""); !errors.Is(err, dbfile.ErrTooLarge) {
		t.Errorf("killed without a limit: error %v", err)
	}
	if err := notChecked(os.ErrNotExist); !errors.Is(err, dbfile.ErrNotChecked) || errors.Is(err, os.ErrNotExist) {
		t.Errorf("this says that the object is missing: %v", err)
	}
}

func TestAChildEndsWithItsAttempt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("cancelled"))
	if _, err := (Process{}).Inspect(ctx, write(t, nil)); err == nil || err.Error() != "cancelled" {
		t.Errorf("error %v", err)
	}
	busy := newSlot(0)
	leave, err := busy.gate.Enter(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	if _, err := busy.inspect(ctx, "ns", "", 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v while another check runs", err)
	}
}

func TestTheChecksFitIntoTheMemoryOfTheOperator(t *testing.T) {
	if d := divide(math.MaxInt64); d.own != math.MaxInt64 || d.small != 0 || d.usual != 0 || d.large != 0 || !d.separate {
		t.Errorf("without a limit: %+v", d)
	}
	for _, total := range []int64{256 << 20, 512 << 20, 1 << 30, 8 << 30} {
		d := divide(total)
		sum := d.own + d.small + d.large
		if d.separate {
			sum += d.usual
		}
		if sum > total || d.own < total/4 || d.large < minMemory || d.separate != (total > 256<<20) {
			t.Errorf("%d MiB: %+v", total>>20, d)
		}
	}
}
