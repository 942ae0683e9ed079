package standby

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
)

var killEach = flag.Int64("standby.kill", 7, "a process is killed after each change of the disk whose number this divides, from a random one on")

// childCommand is the first argument of this program as a process that follows an archive until it has nothing new.
const childCommand = "follow"

// order is what the process is started with.
type order struct {
	Dir, Store, Bases string
	// Finish is the path to deliver to; empty for none.
	Finish string
	// KillAt ends the process by a signal at that change of the disk; 0 never.
	KillAt int64
	// Newest begins with the newest base.
	Newest bool
	// Anonymous reports the largest anonymous memory.
	Anonymous bool
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childCommand {
		if err := follow(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// follow is the process.
func follow(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	content, err := os.ReadFile(o.Bases)
	if err != nil {
		return err
	}
	var bases []archive.Base
	if err := json.Unmarshal(content, &bases); err != nil {
		return err
	}
	store, err := file.Open(o.Store)
	if err != nil {
		return err
	}
	known := bases[:1] // the others are found one after the other, so that each part of the archive is followed
	if o.Newest {
		known = bases
	}
	options := optionsOf(o.Dir, store, &known)
	began, started := time.Now(), time.Now()
	options.Now = func() time.Time { began = began.Add(listLongest); return began } // each look is due
	var changes atomic.Int64
	options.durable = func() {
		if changes.Add(1) == o.KillAt {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	if o.Anonymous {
		defer reportAnonymous()()
	}
	options.Report = func(s Status) {
		if o.Anonymous {
			fmt.Fprintf(os.Stderr, "revision %d after %s, %d MiB anonymous\n", s.Revision, time.Since(started).Round(time.Millisecond), anonymous()>>20)
		}
	}
	f, err := Open(options)
	if err == nil {
		for err = catchUp(context.Background(), f); IsBroken(err) != nil && len(known) < len(bases); err = catchUp(context.Background(), f) {
			known = bases[:len(known)+1]
		}
		err = errors.Join(err, f.Close())
	}
	if errors.Is(err, ErrFinished) {
		err = nil
	}
	if err == nil && o.Finish != "" {
		_, err = Finish(context.Background(), options, o.Finish)
	}
	fmt.Println("changes", changes.Load())
	return err
}

// reportAnonymous returns a function that prints the largest anonymous memory of the process since then.
func reportAnonymous() func() {
	stop, peak := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		for {
			most = max(most, anonymous())
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() { close(stop); fmt.Println("anonymous", <-peak) }
}

// anonymous returns the anonymous memory of this process in bytes.
func anonymous() int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "RssAnon:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// run starts the process, and returns what it has printed and whether it was killed.
func (s *source) run(o order, env ...string) (printed string, killed bool) {
	s.Helper()
	o.Store, o.Bases = s.dir, filepath.Join(s.TempDir(), "bases.json")
	s.describe(o.Bases)
	text, err := json.Marshal(o)
	if err != nil {
		s.Fatal(err)
	}
	command := exec.CommandContext(s.Context(), os.Args[0], childCommand, string(text))
	command.Env = append(os.Environ(), env...)
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
		return "", true
	}
	if err != nil {
		s.Fatalf("%v: %s", err, out)
	}
	return string(out), false
}

// number returns a number that the process has printed.
func number(t *testing.T, printed, name string) (n int64) {
	t.Helper()
	for line := range strings.Lines(printed) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			n, _ = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		}
	}
	return n
}

// history is an archive with all that a follower can meet: links that take several transactions, compactions, a gap, and another timeline.
func history(s *source) {
	s.write(20)
	s.compact(15)
	s.save(1)
	s.archive(15)
	s.archive(700)
	s.compact(500)
	s.archive(10)
	s.gap(4)
	s.archive(600)
	s.compact(s.kv.Rev())
	s.save(2)
	s.archive(30)
	s.archive(500)
	s.compact(s.kv.Rev() - 100)
	s.archive(10)
}

func TestAFollowerThatIsKilledAfterSomeChangeOfItsDiskContinues(t *testing.T) {
	s := newSource(t)
	history(s)
	dir := t.TempDir()
	printed, _ := s.run(order{Dir: filepath.Join(dir, "whole"), Finish: filepath.Join(dir, "whole.db")})
	changes := number(t, printed, "changes")
	if changes < 20 {
		t.Fatalf("%d changes: %s", changes, printed)
	}
	s.compare(filepath.Join(dir, "whole.db"))
	t.Logf("%d changes", changes)
	for at := 1 + rand.Int64N(*killEach); at <= changes; at += *killEach { // a test
		o := order{Dir: filepath.Join(dir, fmt.Sprint("at-", at)), Finish: filepath.Join(dir, fmt.Sprintf("at-%d.db", at)), KillAt: at}
		if _, killed := s.run(o); !killed {
			t.Fatalf("it was not killed at change %d of %d", at, changes)
		}
		o.KillAt = 0
		s.run(o)
		s.sameKeys(o.Finish)
		if t.Failed() {
			t.Fatalf("killed at change %d of %d", at, changes)
		}
		_ = os.RemoveAll(o.Dir)
	}
}

// Each process lives for a few changes only, and the archive grows between two of them.
func TestAFollowerThatIsKilledAgainAndAgainHasTheKeysOfTheSource(t *testing.T) {
	s := newSource(t)
	s.write(20)
	s.save(1)
	random := rand.New(rand.NewPCG(3, 3))
	o := order{Dir: filepath.Join(t.TempDir(), "standby")}
	kills := 0
	for round := range 15 {
		s.archive(1 + random.IntN(400))
		if round%3 == 0 {
			s.compact(s.kv.Rev() - random.Int64N(50))
		}
		if round == 6 {
			s.gap(3)
		}
		o.KillAt = 1 + random.Int64N(12)
		if _, killed := s.run(o); killed {
			kills++
		}
	}
	if kills < 8 {
		t.Errorf("%d kills", kills)
	}
	o.KillAt, o.Finish = 0, filepath.Join(t.TempDir(), "delivered.db")
	s.archive(1)
	s.run(o)
	s.compare(o.Finish)
}
