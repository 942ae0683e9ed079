package plan

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

const year = 365 * 24 * time.Hour

// storedTimes says for each time in the status of an EtcdBackup what it means if it is ahead of now. A field that is missing here fails the
// tests below. So does one that delays snapshots, copies, restore tests or deletions.
var storedTimes = map[string]string{
	"Conditions.LastTransitionTime": "an EtcdBackup that has ended is kept longer than its time to live",
	"LastSuccessDate":               "there is no snapshot, so one is due",
	"LastPruneTime":                 "nothing was deleted, so old snapshots are looked at now",
	"NextDrillTime":                 "the test is due",
	"LastAttemptTime":               "the attempt is due",
	"NextTime":                      "the attempt is due",
	"LastDrill.Time":                "there was no test since the EtcdBackup was created",
	"Copies.LastAttemptTime":        "there was no copy",
	"Copies.NextTime":               "the copy is due",
	"Recoverable.From.Time":         "for people and restores only",
	"Recoverable.To.Time":           "for people and restores only",
	"Copies.Recoverable.From.Time":  "for people only",
	"Copies.Recoverable.To.Time":    "for people only",
	"LastArchiveProof.Time":         "for people only",
}

// timesIn finds the paths of a type that lead to a time.
func timesIn(t reflect.Type, path string) []string {
	switch {
	case t == reflect.TypeFor[time.Time](), t == reflect.TypeFor[metav1.Time]():
		return []string{strings.TrimPrefix(path, ".")}
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
		return timesIn(t.Elem(), path)
	case t.Kind() != reflect.Struct:
		return nil
	}
	var found []string
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			next := path + "." + f.Name
			if f.Anonymous {
				next = path
			}
			found = append(found, timesIn(f.Type, next)...)
		}
	}
	return found
}

// set gives the time at a path another value, if all on the way to it is there.
func set(v reflect.Value, path []string, at time.Time) bool {
	for len(path) > 0 {
		v, path = v.FieldByName(path[0]), path[1:]
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
			if v.Kind() == reflect.Pointer && v.IsNil() && v.Type().Elem() == reflect.TypeFor[metav1.Time]() {
				v.Set(reflect.ValueOf(&metav1.Time{}))
			}
			if v.IsNil() || v.Kind() == reflect.Slice && v.Len() == 0 {
				return false
			}
			if v.Kind() == reflect.Slice {
				v = v.Index(0)
			} else {
				v = v.Elem()
			}
		}
	}
	v.Set(reflect.ValueOf(metav1.NewTime(at)))
	return true
}

func TestEachStoredTimeOfABackupHasAMeaningIfItIsAheadOfNow(t *testing.T) {
	all := timesIn(reflect.TypeFor[v1beta2.EtcdBackupStatus](), "")
	for _, path := range all {
		if storedTimes[path] == "" {
			t.Errorf("status.%s is a stored time. What does it mean if it is ahead of now? Add it to storedTimes.", path)
		}
	}
	for path := range maps.Keys(storedTimes) {
		if !slices.Contains(all, path) {
			t.Errorf("status.%s does not exist any more", path)
		}
	}
}

// A clock was a year ahead when a time was stored, and is right again. Nothing may wait for that time: no snapshot, no restore test, no copy
// and no deletion of old snapshots.
func TestATimeThatIsAheadOfNowDelaysNoBackup(t *testing.T) {
	const longest = 2 * time.Hour // of the schedules below
	kinds := map[string]func(*state.State){
		"all is well": func(*state.State) {},
		"attempts failed": func(s *state.State) {
			failedTries(3, time.Minute)(s)
			s.Status.DrillAttempts, s.Status.Copies.Attempts = 2, 2
			s.Status.NextDrillTime = &metav1.Time{Time: statetest.T0.Add(time.Minute)}
		},
		"an attempt was interrupted": func(s *state.State) { statetest.Stopped(2, time.Minute)(s) },
		"it is suspended":            func(s *state.State) { s.Spec.BackupPolicy.Suspend = true },
	}
	for kind, given := range kinds {
		for path := range storedTimes {
			s := statetest.Series(statetest.Proven(30*time.Minute), func(s *state.State) {
				s.CreatedAt = statetest.T0.Add(-24 * time.Hour)
				s.Spec.BackupPolicy.MaxBackups = 3
				s.Spec.Drill = &v1beta2.DrillPolicy{Schedule: "0 * * * *"}
				s.Spec.CopyTo = &v1beta2.CopyTarget{}
				s.Status.Snapshot.ClusterID, s.Status.Snapshot.SHA256 = "0000000000000001", "new"
				s.Status.LastPruneTime = &metav1.Time{Time: statetest.T0.Add(-30 * time.Minute)}
				s.Status.LastDrill = &v1beta2.BackupDrill{Time: metav1.NewTime(statetest.T0.Add(-30 * time.Minute))}
				s.Status.Copies = &v1beta2.BackupCopies{ObservedGeneration: 1, LastAttemptTime: &metav1.Time{Time: statetest.T0.Add(-time.Hour)}, Newest: &v1beta2.Snapshot{SHA256: "old"}}
			}, given)
			changed := s
			changed.Status = *s.Status.DeepCopy()
			if !set(reflect.ValueOf(&changed.Status).Elem(), strings.Split(path, "."), statetest.T0.Add(year)) {
				continue
			}
			if path == "LastSuccessDate" {
				changed.Status.Snapshot.CreatedAt = state.Stamp(statetest.T0.Add(year))
			}
			for what, turns := range map[string][2]time.Time{
				"the next snapshot":                    {SnapshotTurn(s), SnapshotTurn(changed)},
				"the next restore test":                {drillTurn(s), drillTurn(changed)},
				"the next copy":                        {CopyTurn(s), CopyTurn(changed)},
				"the next deletion of old snapshots":   {pruneTurn(s), pruneTurn(changed)},
				"the next restore test or other proof": {TestTurn(s), TestTurn(changed)},
			} {
				if before, after := turns[0], turns[1]; !before.IsZero() && (after.IsZero() || after.After(statetest.T0.Add(longest))) {
					t.Errorf("%s: status.%s is a year ahead, and %s is at %s instead of %s", kind, path, what, after, before)
				}
			}
			if wait, is := next(changed).(Backoff); is && wait.At.After(statetest.T0.Add(longest)) {
				t.Errorf("%s: status.%s is a year ahead, and the operator waits until %s", kind, path, wait.At)
			}
		}
	}
}

// The operator's clock was ahead of the API server's. EtcdBackups that had just ended were deleted as if their time to live were over, and with
// deletionPolicy Delete their snapshots, too.
func TestNoBackupExpiresWhileTheClocksDiffer(t *testing.T) {
	s := statetest.One(ttl(60, time.Hour))
	if _, is := next(s).(Expire); !is {
		t.Fatalf("the step is %#v", next(s))
	}
	s.ClocksDiffer = true
	if _, is := next(s).(Expire); is {
		t.Error("the EtcdBackup is deleted, although nobody knows whether its time is over")
	}
}
