package restore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// growing writes a database that grows until it is ended, as an archive can ask for.
type growing struct{ most *int64 }

func (g growing) Replay(ctx context.Context, o replay.Order) (replay.Result, error) {
	const step = 1 << 20
	for size := int64(0); size < 640*step && ctx.Err() == nil; size += step {
		if err := os.Truncate(o.Options.Path, size); err != nil {
			return replay.Result{}, err
		}
		*g.most = size
		o.Progress(size)
	}
	return replay.Result{}, ctx.Err()
}

// The changes of an archive can make any database of a small one. It must end before it takes the disk of the other namespaces.
func TestAReplayThatOutgrowsTheSpoolEnds(t *testing.T) {
	const limit = 64 << 20
	s, err := OpenSpool(t.TempDir(), spool.Options{Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Dir(), "base.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	most := int64(0)
	s.replays.process = growing{&most}
	share, err := s.Of("ns").Reserve(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer share.Release()
	read := baseRead{base: source.Proven{File: path}, share: share}
	if _, err := s.replayGrowing(t.Context(), Asked{Namespace: "ns"}, read); !errors.Is(err, spool.ErrOverLimit) && !errors.Is(err, spool.ErrFull) {
		t.Errorf("error %v", err)
	}
	if most == 0 || most > limit/2 {
		t.Errorf("the database had %d MiB, and with its copy %d MiB of the spool", most>>20, 2*most>>20)
	}
}

func TestAReplayGetsTheMemoryThatTheOperatorDoesNotNeed(t *testing.T) {
	const mib = 1 << 20
	for name, test := range map[string]struct {
		asked, replay, operator int64
		noticed                 bool
	}{
		"the requested memory fits":                                      {512 * mib, 512 * mib, 512 * mib, false},
		"the requested memory is too much":                               {2048 * mib, 768 * mib, 256 * mib, true},
		"the replay has no limit":                                        {0, 0, 1024 * mib, false},
		"the replay requests all memory that the operator does not need": {768 * mib, 768 * mib, 256 * mib, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := debug.SetMemoryLimit(1024 * mib)
			defer debug.SetMemoryLimit(before)
			s, notice := Spool{}.WithReplayMemory(test.asked)
			memory := s.replays.process.(replay.Process).Memory //nolint:forcetypeassert // the test is about it
			if got := debug.SetMemoryLimit(-1); memory != test.replay || got != test.operator {
				t.Errorf("a replay gets %d MiB and the operator %d MiB, want %d and %d", memory/mib, got/mib, test.replay/mib, test.operator/mib)
			}
			if strings.Contains(notice, "Raise restoreOperator.resources.limits.memory") != test.noticed {
				t.Errorf("the notice is %q", notice)
			}
		})
	}
}
