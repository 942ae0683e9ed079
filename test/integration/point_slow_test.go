package integration

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

const (
	// floods and floodSize are more than the archiver spools, and more responses than etcd buffers for a watch.
	floods    = 600
	floodSize = 100 << 10
)

// flood writes values that cannot be compressed, and returns the last revision.
func (p *pointBench) flood() (revision int64) {
	p.Helper()
	value := make([]byte, floodSize)
	for i := range floods {
		_, _ = rand.Read(value)
		answer, err := p.kv.Put(p.Context(), fmt.Sprintf("flood/%d", i%20), string(value))
		if err != nil {
			p.Fatal(err)
		}
		revision = answer.Header.Revision
	}
	return revision
}

// If this fails, a short outage of the store makes the archive hang, or hides which changes are lost. The archiver stops reading when
// its spool is full. Then its watch is behind, and etcd cancels it at the next compaction.
func TestASlowWatchThatEtcdCancelsLeavesAGapThatTheStatusShows(t *testing.T) {
	for _, minor := range []string{"3.5", "3.7"} {
		t.Run("etcd "+minor, func(t *testing.T) {
			t.Parallel()
			var u *uplink
			p := newPointBenchOf(t, pointOptions{etcd: servers.EtcdOptions{Minor: minor}, change: func(p *pointBench) {
				u = newUplink(p.T, p.server.Endpoint)
				p.series.Spec.S3.Endpoint = u.URL
			}})
			before := p.write("before the store is down", 20)
			u.cut.Store(true)
			last := p.flood()
			if _, err := p.kv.Compact(t.Context(), last); err != nil {
				t.Fatal(err)
			}
			u.cut.Store(false)

			kubetest.Await(t, p.series, "report the gap", func(s *v1beta2.EtcdBackup) bool { return len(s.Status.Recoverable) == 2 })
			r := p.series.Status.Recoverable
			if r[0].Timeline != 1 || r[1].Timeline != 1 || r[0].To.Revision <= before || r[0].To.Revision >= last || r[1].From.Revision < last {
				t.Errorf("the ranges are %+v; the store was down after revision %d, and etcd is compacted to %d", r, before, last)
			}
			histories, err := archive.Read(t.Context(), open(t, p.bucket), p.archiveRoot("pit"))
			if err != nil {
				t.Fatal(err)
			}
			gaps := 0
			for _, l := range histories[0].Links {
				if l.Header.Gap() {
					gaps++
				}
			}
			if len(histories) != 1 || gaps != 1 {
				t.Errorf("the archive has %d timelines and %d gaps, want one of each", len(histories), gaps)
			}
			newest := p.write("after the gap", 20)
			for i, revision := range []int64{r[0].To.Revision, newest} {
				restore := p.to(fmt.Sprintf("point-%d", i), v1beta2.SnapshotSelector{Revision: revision})
				file := p.restored(restore, nil)
				if revision == newest {
					p.compare(file, p.hash(newest), newest)
				}
			}
		})
	}
}
