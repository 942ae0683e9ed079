package archiving

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/copying"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// published is an archive whose keeper looks at the archiver once a second.
type published struct {
	*keeper
	now      time.Time
	revision int64
	notified int
}

func newPublished(t *testing.T) *published {
	t.Helper()
	counted, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	p := &published{now: statetest.T0, revision: 1}
	p.keeper = &keeper{
		job:      &runner{Clients: &clients.Clients{Now: func() time.Time { return p.now }}, metrics: counted, copies: copying.New(nil), places: limits.NewPlaces(nil, 0)},
		Archiver: &Archiver{notify: func() { p.notified++ }}, surveyed: true,
		survey: archive.Survey{Covered: true, Ranges: []archive.Range{{Timeline: 1, To: archive.Point{Revision: 1, At: p.now}}}},
	}
	p.look()
	p.notified = 0
	return p
}

// beside takes the places of so many archives.
func (p *published) beside(t *testing.T, archives int64) {
	t.Helper()
	for range archives {
		if _, err := p.job.places.TakeArchive("ns"); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *published) look() {
	p.publish(archiver.Status{Timeline: 1, Stored: archive.Point{Revision: p.revision, At: p.now}, Safe: p.now})
}

// seconds lets time pass, with a write in each second or without any. It returns how old the end in the status became.
func (p *published) seconds(n int, writes bool) (oldest time.Duration) {
	since := p.now // when the status had all
	for range n {
		if p.now = p.now.Add(limits.Interval); writes {
			p.revision++
		}
		p.look()
		if shown := p.Archiver.look().Shown; shown.Revision == p.revision {
			since = p.now
		}
		oldest = max(oldest, p.now.Sub(since))
	}
	return oldest
}

// The end of the archive in the status was up to a minute old. A user who lost the cluster and the operator with it restored to that end, and lost
// what was archived after it.
func TestTheEndInTheStatusIsAtMostTenSecondsOldWhileThereAreWrites(t *testing.T) {
	for _, archives := range []int64{1, 100, 1000} {
		p := newPublished(t)
		p.beside(t, archives)
		oldest := p.seconds(600, true)
		if most := 600 * time.Second / plan.Pace(archives); oldest > 10*time.Second || p.notified > int(most) {
			t.Errorf("with %d archives the status is up to %s old, after %d reports in 10 minutes, want at most %d", archives, oldest, p.notified, most)
		}
	}
}

// A thousand idle archives must not keep the API server busy. Their end still moves once a minute, because a restore to a time needs it.
func TestAnIdleArchiveIsReportedOnceAMinute(t *testing.T) {
	p := newPublished(t)
	if p.seconds(600, false); p.notified != 10 {
		t.Errorf("%d reports in 10 minutes, want 10", p.notified)
	}
}

// The first write after an idle hour was shown only when the next report was due.
func TestAWriteAfterAPauseIsReportedAtOnce(t *testing.T) {
	p := newPublished(t)
	p.seconds(30, false)
	p.notified = 0
	if p.seconds(1, true); p.notified != 1 || p.Archiver.look().Shown.Revision != p.revision {
		t.Errorf("%d reports, and the status shows revision %d of %d", p.notified, p.Archiver.look().Shown.Revision, p.revision)
	}
}

// A snapshot showed that a part of the archive cannot be restored. The status still had the earlier end, which no restore accepts.
func TestAnEarlierEndIsReportedAtOnce(t *testing.T) {
	p := newPublished(t)
	p.seconds(10, true)
	p.survey.Covered = false
	p.survey.Ranges[0].To.Revision = 5
	p.shape.covered = false // it was reported
	if p.look(); p.Archiver.look().Shown.Revision != 5 {
		t.Errorf("the status shows revision %d, and 5 can be restored", p.Archiver.look().Shown.Revision)
	}
}

// A clock was ahead by an hour and was set back. Nothing was reported for that hour.
func TestTheEndIsReportedAfterAClockWasSetBack(t *testing.T) {
	p := newPublished(t)
	p.seconds(10, true)
	p.now = p.now.Add(-time.Hour)
	p.revision++
	p.survey.Ranges[0].To.At = p.now.Add(-time.Hour)
	if p.seconds(10, true); p.Archiver.look().Shown.Revision < p.revision-int64(plan.WritingInterval/time.Second) {
		t.Errorf("the status shows revision %d of %d", p.Archiver.look().Shown.Revision, p.revision)
	}
}

// A user made a cluster read-only to move it. The status showed the last revision as recoverable only some seconds later.
func TestTheEndOfAReadOnlyClusterIsReportedAtOnce(t *testing.T) {
	p := newPublished(t)
	p.beside(t, 1000)
	p.seconds(60, true)
	p.spec.fence = p.revision + 1
	if p.seconds(1, true); p.Archiver.look().Shown.Revision != p.spec.fence {
		t.Errorf("the status shows revision %d, and the last one is %d", p.Archiver.look().Shown.Revision, p.spec.fence)
	}
}
