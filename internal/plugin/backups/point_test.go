package backups

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/plugintest"
)

// archived has the timelines 1 and 2. The first one has a gap.
func archived() observed.Objects {
	o := plugintest.Healthy()
	at := func(revision int64, ago time.Duration) v1beta2.RecoverablePoint {
		return v1beta2.RecoverablePoint{Revision: revision, Time: metav1.NewTime(plugintest.Now.Add(-ago))}
	}
	o.Backups[0].Status.Recoverable = []v1beta2.RecoverableRange{
		{From: at(10, 9*time.Hour), To: at(20, 8*time.Hour), Timeline: 1},
		{From: at(30, 7*time.Hour), To: at(40, 6*time.Hour), Timeline: 1},
		{From: at(400, 2*time.Hour), To: at(495, time.Minute), Timeline: 2},
	}
	return o
}

func TestRestoreOfAPointShowsWhatIsLost(t *testing.T) {
	for name, test := range map[string]struct {
		point  Point
		change func(*observed.Objects)
	}{
		"restore-revision":       {point: Point{Revision: 450}},
		"restore-time":           {point: Point{Time: plugintest.Now.Add(-30 * time.Minute)}},
		"restore-time-early":     {point: Point{Time: plugintest.Now.Add(-90 * time.Minute)}},
		"restore-time-late":      {point: Point{Time: plugintest.Now.Add(-10 * time.Second)}},
		"restore-revision-late":  {point: Point{Revision: 498}},
		"restore-old-timeline":   {point: Point{Revision: 35}},
		"restore-time-no-answer": {point: Point{Time: plugintest.Now.Add(-30 * time.Minute)}, change: func(o *observed.Objects) { o.Looks = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			o := archived()
			if test.change != nil {
				test.change(&o)
			}
			found, err := FindPoint(test.point, o.Backups)
			if err != nil {
				t.Fatal(err)
			}
			got := PointLoss(o.Cluster, found, observed.Snapshots(o.Backups), o.Looks, plugintest.Now)
			file := filepath.Join("testdata", name+".txt")
			if *plugintest.Update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("screen (-want +got; -update writes it):\n%s", diff)
			}
		})
	}
}

func TestRestoreRefusesAPointThatNoArchiveHasAndListsTheOthers(t *testing.T) {
	for name, p := range map[string]Point{
		"a revision in the gap":          {Revision: 25},
		"a revision between timelines":   {Revision: 399},
		"a revision before the archive":  {Revision: 9},
		"a time in the gap":              {Time: plugintest.Now.Add(-450 * time.Minute)},
		"a time before the archive":      {Time: plugintest.Now.Add(-10 * time.Hour)},
		"a time between two timelines":   {Time: plugintest.Now.Add(-3 * time.Hour)},
		"a second before the last range": {Time: plugintest.Now.Add(-2*time.Hour - time.Second)},
	} {
		_, err := FindPoint(p, archived().Backups)
		if err == nil || !strings.Contains(err.Error(), "Nothing was changed") || !strings.Contains(err.Error(), "revisions 30 to 40, 2026-11-23T05:00:00Z to 2026-11-23T06:00:00Z") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := FindPoint(Point{Revision: 450}, plugintest.Healthy().Backups); err == nil || !strings.Contains(err.Error(), "spec.continuous") {
		t.Errorf("without an archive: %v", err)
	}
}

func TestRestoreTakesARevisionFromTheNewestTimelineThatHasIt(t *testing.T) {
	o := archived()
	o.Backups[0].Status.Recoverable[2].From.Revision = 15
	if found, err := FindPoint(Point{Revision: 35}, o.Backups); err != nil || found.Range.Timeline != 2 || found.Older {
		t.Errorf("%+v, %v", found, err)
	}
}

// The plugin offered a revision of an old timeline, and the operator refused it, because a newer timeline had that revision.
func TestRestoreOffersNoPointThatOnlyANewerTimelineRestores(t *testing.T) {
	o := archived()
	o.Backups[0].Status.Recoverable[1].OnlyByTime = []v1beta2.RevisionRange{{First: 33, Last: 37}}
	if _, err := FindPoint(Point{Revision: 35}, o.Backups); err == nil || !strings.Contains(err.Error(), "33 to 37 only by time") {
		t.Errorf("a hidden revision: %v", err)
	}
	for _, p := range []Point{{Revision: 32}, {Revision: 38}, {Time: plugintest.Now.Add(-390 * time.Minute)}} {
		if found, err := FindPoint(p, o.Backups); err != nil || found.Range.Timeline != 1 {
			t.Errorf("%s: %+v, %v", p, found, err)
		}
	}
	o.Backups[0].Status.Recoverable[2].From.Time = metav1.NewTime(plugintest.Now.Add(-390 * time.Minute))
	o.Backups[0].Status.Recoverable[2].To.Time = metav1.NewTime(plugintest.Now.Add(-385 * time.Minute))
	if found, err := FindPoint(Point{Time: plugintest.Now.Add(-370 * time.Minute)}, o.Backups); err == nil && !found.Past {
		t.Errorf("a time after the newest timeline began: %+v", found)
	}
}

func TestRestoreOfAPointIsRefusedIfTheClusterWasReplaced(t *testing.T) {
	o := archived()
	for _, p := range []Point{{Revision: 450}, {Time: plugintest.Now.Add(-time.Hour)}} {
		found, err := FindPoint(p, o.Backups)
		if err != nil {
			t.Fatal(err)
		}
		r := NewPointRestore(o.Cluster, found, true, plugintest.Now)
		chosen := r.Spec.Select
		if r.Spec.Replaces != "0123456789abcdef" || r.Spec.EtcdBackup.Name != "hourly" || r.Spec.EtcdBackup.Snapshot != "" || !r.Spec.DryRun {
			t.Errorf("%+v", r.Spec)
		}
		if chosen.Revision != p.Revision || (chosen.Time != nil) != (p.Revision == 0) || chosen.Time != nil && !chosen.Time.Time.Equal(p.Time) {
			t.Errorf("%s is selected as %+v", p, chosen)
		}
	}
}

func TestATimeToRestoreIsInThePastAndNeverRoundedUp(t *testing.T) {
	p, err := ParsePoint(0, "2026-11-23T12:59:59.9+01:00", plugintest.Now)
	if want := time.Date(2026, 11, 23, 11, 59, 59, 0, time.UTC); err != nil || p.Time != want {
		t.Errorf("%s, %v", p.Time, err)
	}
	for _, at := range []string{"2026-11-23T12:00:01Z", "09:14", "15m"} {
		if _, err := ParsePoint(0, at, plugintest.Now); err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
			t.Errorf("%s: %v", at, err)
		}
	}
	if _, err := ParsePoint(-1, "", plugintest.Now); err == nil {
		t.Error("a negative revision is accepted")
	}
	if p, err := ParsePoint(0, "", plugintest.Now); err != nil || !p.IsZero() {
		t.Errorf("no flag is the point %s, %v", p, err)
	}
}

// A user on a bad night looks for one flag. A value that is neither must restore nothing.
func TestOneFlagTakesARevisionOrATime(t *testing.T) {
	if p, err := ParseTo("480", plugintest.Now); err != nil || p.Revision != 480 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := ParseTo("2026-11-23T09:14:02Z", plugintest.Now); err != nil || p.String() != "2026-11-23T09:14:02Z" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, wrong := range []string{"0", "-1", "09:14", "2026-11-24T00:00:00Z", "yesterday"} {
		if p, err := ParseTo(wrong, plugintest.Now); err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
			t.Errorf("%q: %+v, %v", wrong, p, err)
		}
	}
}
