package archive_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// followCommand is the first argument of this program as a process that follows an archive.
const followCommand = "follow"

// following is what the process is started with.
type following struct {
	Dir, Store, Root, Bases string
	Identities              []byte
	// Until is the revision at which the process ends; 0 for none.
	Until int64
}

func (o following) options() (standby.Options, error) {
	store, err := file.Open(o.Store)
	all := func(string) bool { return true }
	return standby.Options{
		Dir: o.Dir, Store: store, Root: o.Root, Identities: o.Identities, Poll: 20 * time.Millisecond, Now: time.Now,
		Find: func(ctx context.Context) (archive.Choice, error) {
			var bases []archive.Base
			content, err := os.ReadFile(o.Bases)
			if err == nil {
				err = json.Unmarshal(content, &bases)
			}
			if err != nil {
				return archive.Choice{}, err
			}
			return standby.Newest(ctx, store, o.Root, all, bases, nil)
		},
		Fetch: func(_ context.Context, b archive.Base, path string) error { return copyFile(path, b.Key) },
	}, err
}

// follow is the process.
func follow(text string) error {
	var o following
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	options, err := o.options()
	if err != nil {
		return err
	}
	f, err := standby.Open(options)
	if err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	for o.Until == 0 || f.Status().Revision < o.Until {
		done, err := f.Step(context.Background())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		fmt.Println("revision", f.Status().Revision)
		if err != nil || done == standby.Idle {
			<-tick.C
		}
	}
	return f.Close()
}

// delivery is what a follower had when it was killed.
type delivery struct {
	path   string
	result standby.Delivered
}

// standbys kills a follower at random, and keeps what it had.
type standbys struct {
	*local
	order  following
	t      *testing.T
	kills  int
	wholes []delivery
}

func (s *standbys) process(ctx context.Context) *exec.Cmd {
	text, err := json.Marshal(s.order)
	if err != nil {
		s.t.Error(err)
	}
	return exec.CommandContext(ctx, os.Args[0], followCommand, string(text)) // it is killed when ctx ends
}

// publish writes the list of bases for the processes.
func (s *standbys) publish() {
	s.mu.Lock()
	content, err := json.Marshal(s.base)
	s.mu.Unlock()
	if err == nil {
		err = os.WriteFile(s.order.Bases+".new", content, 0o600)
	}
	if err == nil {
		err = os.Rename(s.order.Bases+".new", s.order.Bases)
	}
	if err != nil {
		s.t.Error(err)
	}
}

// run starts one process after the other until ctx ends, and kills each of them after a random number of steps.
func (s *standbys) run(ctx context.Context, random *rand.Rand) {
	s.publish()
	for ctx.Err() == nil {
		process := s.process(ctx)
		var errs strings.Builder
		process.Stderr = &errs
		out, err := process.StdoutPipe()
		if err == nil {
			err = process.Start()
		}
		if err != nil {
			if ctx.Err() == nil {
				s.t.Error(err)
			}
			return
		}
		steps := bufio.NewScanner(out)
		for left := 1 + random.IntN(15); left > 0 && steps.Scan(); left-- {
			s.publish()
		}
		_ = process.Process.Kill()
		if err := process.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			s.t.Errorf("the follower has ended: %v: %s", err, errs.String())
			return
		}
		s.kills++
		s.keep()
	}
}

// keep delivers from a copy of what the follower has.
func (s *standbys) keep() {
	s.t.Helper()
	if _, err := os.Stat(s.order.Dir); err != nil {
		return // it was killed before it has made one
	}
	copied := filepath.Join(s.t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(s.order.Dir)); err != nil {
		s.t.Error(err)
		return
	}
	order := s.order
	order.Dir = copied
	options, err := order.options()
	d := delivery{path: filepath.Join(s.t.TempDir(), "delivered.db")}
	if err == nil {
		d.result, err = standby.Finish(s.t.Context(), options, d.path)
	}
	if errors.Is(err, standby.ErrNoBase) {
		return
	}
	if err != nil {
		s.t.Error(err)
		return
	}
	s.wholes = append(s.wholes, d)
}

// compare compares what was kept with the hashes that the cluster had. It returns how many were compared.
func (s *standbys) compare() (compared int) {
	s.t.Helper()
	known := map[int64]record{}
	for _, r := range s.records() {
		known[r.revision] = r
	}
	for _, d := range s.wholes {
		want, ok := known[d.result.Revision]
		if !ok {
			continue
		}
		hash, err := dbfile.TryRestore(s.t.Context(), dbfile.Trial{
			SnapshotPath: d.path, DataDir: filepath.Join(s.t.TempDir(), "data"), Revision: want.revision, CompactRevision: want.compacted,
		})
		switch {
		case err != nil:
			s.t.Errorf("restore revision %d: %v", want.revision, err)
		case hash.CompactRevision != want.compacted: // the follower was compacted after the hash was recorded
		case hash.Hash != want.hash:
			s.t.Errorf("revision %d has the hash %08x, but the cluster had %08x (compacted to %d)", want.revision, hash.Hash, want.hash, want.compacted)
		default:
			compared++
		}
	}
	return compared
}

// TestAFollowerThatIsKilledHasTheRevisionsOfTheCluster follows the archive of a random workload, whose archivers and members are killed, too.
func TestAFollowerThatIsKilledHasTheRevisionsOfTheCluster(t *testing.T) {
	for minor := range strings.SplitSeq(*minors, ",") {
		t.Run("etcd "+minor, func(t *testing.T) {
			random := newRandom(t)
			w := newWorld(t, servers.Etcd(t, servers.EtcdOptions{Minor: minor, Size: 3}), *duration)
			dir := t.TempDir()
			store, err := file.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			w.store = store
			l := newLocal(w, random)
			w.service = l
			s := &standbys{local: l, t: t, order: following{
				Dir: filepath.Join(t.TempDir(), "standby"), Store: dir, Root: w.root, Bases: filepath.Join(t.TempDir(), "bases.json"), Identities: []byte(w.identity.String()),
			}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var group sync.WaitGroup
			seed := random.Uint64()
			group.Go(func() { s.run(ctx, rand.New(rand.NewPCG(seed, 6))) }) // a test
			w.run(random)
			cancel()
			group.Wait()
			all := w.records()
			s.publish()
			s.order.Until = all[len(all)-1].revision
			limited, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			if out, err := s.process(limited).CombinedOutput(); err != nil {
				t.Fatalf("the follower has not reached revision %d: %v: %s", s.order.Until, err, out)
			}
			s.keep()
			compared := s.compare()
			if len(s.wholes) == 0 || s.wholes[len(s.wholes)-1].result.Revision < s.order.Until || compared < 1 || s.kills < 3 {
				t.Errorf("%d kills, %d deliveries, %d compared: too few", s.kills, len(s.wholes), compared)
			}
			t.Logf("%d kills, %d deliveries up to revision %d, of which %d were compared", s.kills, len(s.wholes), s.order.Until, compared)
		})
	}
}
