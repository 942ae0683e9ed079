package backup

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// cron is a series by a schedule, and t0 is 10:00 on a Saturday.
func cron(expression string, changes ...change) State {
	return one(append([]change{func(s *State) {
		s.CreatedAt = t0.Add(-100 * time.Hour)
		s.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: expression}
	}}, changes...)...)
}

func deadline(seconds int64) change {
	return func(s *State) { s.Spec.BackupPolicy.StartingDeadlineSeconds = &seconds }
}

func suspends(s *State) { s.Spec.BackupPolicy.Suspend = true }
func inBerlin(s *State) { s.Spec.BackupPolicy.TimeZone = "Europe/Berlin" }
func justMade(s *State) { s.CreatedAt = t0 }
func deletes(s *State)  { s.Spec.DeletionPolicy = v1beta2.DeletionDelete }
func held(s *State)     { s.Held = true }
func marks(s *State)    { s.Spec.NoQuorum = v1beta2.NoQuorumMark }
func drillsAt(at string) change {
	return func(s *State) { s.Spec.Drill = &v1beta2.DrillPolicy{Schedule: at} }
}

func asks(value, handled string) change {
	return func(s *State) { s.Request, s.Status.HandledRequest = value, handled }
}

// drilledAt: the last restore test ended that long ago.
func drilledAt(ago time.Duration, result v1beta2.DrillResult) change {
	return func(s *State) {
		s.Status.LastDrill = &v1beta2.BackupDrill{Path: "bucket/dir/snap.db", Result: result, Time: metav1.Time{Time: t0.Add(-ago)}}
	}
}

func drillFailed(n int32, in time.Duration) change {
	return func(s *State) {
		s.Status.DrillAttempts, s.Status.NextDrillTime = n, &metav1.Time{Time: t0.Add(in)}
	}
}

// goes: the EtcdBackup was deleted that long ago, has the finalizer, and deletes its snapshots.
func goes(ago time.Duration) change {
	return func(s *State) {
		deleted(s)
		held(s)
		deletes(s)
		s.DeletedAt, s.DeletingFor = t0.Add(-ago), ago
	}
}

// finally: the series was deleted that long ago, and asks for a final snapshot.
func finally(ago time.Duration) change {
	return func(s *State) {
		deleted(s)
		held(s)
		s.Spec.FinalSnapshot = true
		s.DeletedAt, s.DeletingFor = t0.Add(-ago), ago
		s.Request = finalRequest(s.DeletedAt)
	}
}

func ofKnownCluster(s *State) { s.Status.Snapshot.ClusterID = "0000000000000001" }

func prunedAgo(ago time.Duration) change {
	return func(s *State) { s.Status.LastPruneTime = &metav1.Time{Time: t0.Add(-ago)} }
}

func ttl(seconds int32, endedAgo time.Duration) change {
	return func(s *State) {
		condition("Complete", "Complete", 1)(s)
		s.Status.Conditions[0].LastTransitionTime.Time = t0.Add(-endedAgo)
		s.Spec.TTLSecondsAfterFinished = &seconds
	}
}

func taken(s *State) {
	s.Status.Snapshot = &v1beta2.Snapshot{Path: "bucket/dir/snap.db", CreatedAt: stamp(t0)}
}

func TestTheNextStepOfASchedule(t *testing.T) {
	at := func(clock string) time.Time {
		parsed, err := time.Parse("2006-01-02 15:04", "2026-11-"+clock)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	tests := map[string]struct {
		state State
		want  Step
	}{
		"the first snapshot of a schedule is taken at its first time":                    {cron("0 12 * * *", justMade), Scheduled{At: at("21 12:00")}},
		"and not forgotten when the operator was down then":                              {cron("0 3 * * *"), TakeSnapshot{Number: 1}},
		"waits until the next snapshot is due":                                           {cron("0 12 * * *", proven(22*time.Hour)), Scheduled{At: at("21 12:00")}},
		"takes a snapshot in the second in which it is due":                              {cron("0 10 * * *", proven(24*time.Hour)), TakeSnapshot{Number: 1}},
		"takes no second snapshot in the second in which it was due":                     {cron("0 10 * * *", proven(0)), Scheduled{At: at("22 10:00")}},
		"takes one snapshot for ten missed ones":                                         {cron("0 * * * *", proven(10*time.Hour)), TakeSnapshot{Number: 1}},
		"uses the time zone of the schedule":                                             {cron("0 12 * * *", inBerlin, proven(22*time.Hour)), Scheduled{At: at("21 11:00")}},
		"skips a snapshot after its starting deadline":                                   {cron("0 3 * * *", proven(48*time.Hour), deadline(3600)), Scheduled{At: at("22 03:00")}},
		"takes a missed snapshot before its starting deadline":                           {cron("30 9 * * *", proven(48*time.Hour), deadline(3600)), TakeSnapshot{Number: 1}},
		"skips a snapshot of an interval after its starting deadline":                    {series(proven(90*time.Minute), deadline(60)), Scheduled{At: t0.Add(30 * time.Minute)}},
		"retries a snapshot that started before its deadline":                            {cron("0 3 * * *", proven(48*time.Hour), deadline(3600), failedTries(2, 0)), TakeSnapshot{Number: 3}},
		"a snapshot from the future does not delay a schedule":                           {cron("0 * * * *", proven(-365*24*time.Hour)), TakeSnapshot{Number: 1}},
		"a snapshot from the future does not delay an interval":                          {series(proven(-365 * 24 * time.Hour)), TakeSnapshot{Number: 1}},
		"clocks that differ by seconds do not matter":                                    {series(proven(-30 * time.Second)), Scheduled{At: t0.Add(time.Hour + 30*time.Second)}},
		"refuses an unknown time zone":                                                   {cron("0 3 * * *", func(s *State) { s.Spec.BackupPolicy.TimeZone = "Europe/Bonn" }), Refuse{Reason: "InvalidSpec", Message: `backupPolicy: timeZone "Europe/Bonn" is unknown: write a name of the IANA time zone data base, such as Europe/Berlin`}},
		"refuses a schedule that is never due":                                           {cron("0 0 30 2 *"), Refuse{Reason: "InvalidSpec", Message: `backupPolicy: schedule "0 0 30 2 *" is never due: there is no such date`}},
		"takes a snapshot at once if the annotation asks for it":                         {cron("0 12 * * *", proven(time.Minute), asks("a", "")), TakeSnapshot{Number: 1}},
		"takes another one for a new value of the annotation":                            {cron("0 12 * * *", proven(time.Minute), asks("b", "a")), TakeSnapshot{Number: 1}},
		"takes one snapshot for each value of the annotation":                            {cron("0 12 * * *", proven(time.Minute), asks("a", "a")), Scheduled{At: at("21 12:00")}},
		"a one-shot ignores the annotation":                                              {one(condition("Complete", "Complete", 1), asks("a", "")), Finished{Complete: true}},
		"takes no snapshot while it is suspended":                                        {series(proven(2*time.Hour), suspends), Suspended{}},
		"retries no snapshot while it is suspended":                                      {series(failedTries(2, 0), suspends), Suspended{}},
		"takes a snapshot that the annotation asks for while it is suspended":            {series(proven(2*time.Hour), suspends, asks("a", "")), TakeSnapshot{Number: 1}},
		"deletes old snapshots while it is suspended":                                    {series(proven(2*time.Hour), suspends, keep(1), ofKnownCluster), Prune{}},
		"deletes old snapshots of a suspended series at once after a change of the spec": {series(proven(2*time.Hour), suspends, keep(1), ofKnownCluster, prunedAgo(time.Minute), edited), Prune{}},
		"waits an hour after it deleted old snapshots of a suspended series":             {series(proven(2*time.Hour), suspends, keep(1), ofKnownCluster, prunedAgo(time.Minute)), Suspended{Prune: t0.Add(59 * time.Minute)}},
		"deletes nothing of a suspended series if all snapshots are kept":                {series(proven(2*time.Hour), suspends, ofKnownCluster), Suspended{}},
		"takes a final snapshot of a deleted series":                                     {series(finally(0)), TakeSnapshot{Number: 1}},
		"takes a final snapshot of a suspended series":                                   {series(finally(0), suspends), TakeSnapshot{Number: 1}},
		"stops an attempt before the final snapshot":                                     {series(finally(0), attempt(Attempt{Generation: 1, Number: 1})), Cancel{}},
		"watches the final snapshot":                                                     {series(finally(0), attempt(Attempt{Request: "final 2026-11-21T10:00:00Z", Generation: 1, Number: 1})), Watch{}},
		"reports the final snapshot":                                                     {series(finally(0), attempt(Attempt{Request: "final 2026-11-21T10:00:00Z", Generation: 1, Result: &Result{}})), Report{}},
		"takes the final snapshot once":                                                  {series(finally(0), func(s *State) { s.Status.HandledRequest = s.Request }), Release{}},
		"repeats a failed final snapshot after the pause":                                {series(finally(time.Minute), failedTries(1, time.Second)), Backoff{At: t0.Add(time.Second), Until: t0.Add(9 * time.Minute)}},
		"waits for the cluster of a final snapshot until 10 minutes have passed":         {series(finally(4*time.Minute), of(&Cluster{Name: "c"})), Wait{Reason: "ClusterNotAvailable", Message: "EtcdCluster etcd does not serve clients, so the operator takes no snapshot yet. ", Requeue: 6 * time.Minute}},
		"gives up the final snapshot after ten minutes":                                  {series(finally(10 * time.Minute)), Release{Missed: "The operator could not take it within 10m0s."}},
		"stops a final snapshot that hangs":                                              {series(finally(10*time.Minute), attempt(Attempt{Request: "final 2026-11-21T09:50:00Z", Generation: 1, Number: 1})), Release{Missed: "The operator could not take it within 10m0s."}},
		"gives up the final snapshot if the EtcdCluster does not exist":                  {series(finally(0), of(nil)), Release{Missed: "The EtcdCluster etcd does not exist any more."}},
		"takes no final snapshot if the spec does not ask for it":                        {series(finally(0), func(s *State) { s.Spec.FinalSnapshot = false }), Release{}},
		"sets the finalizer for the final snapshot":                                      {series(func(s *State) { s.Spec.FinalSnapshot = true }), Hold{}},
		"a suspended series does not need its cluster":                                   {series(of(nil), suspends), Suspended{}},
		"takes a snapshot without quorum if noQuorum is Mark":                            {one(marks, of(&Cluster{Message: "no quorum", ClientURLs: []string{"http://a:2379"}})), TakeSnapshot{Number: 1}},
		"sets the finalizer before the first snapshot":                                   {one(deletes), Hold{}},
		"removes the finalizer if deletionPolicy is no longer Delete":                    {one(held), Release{}},
		"sets no finalizer for an invalid spec":                                          {one(deletes, func(s *State) { s.Spec.StorageType = v1beta2.StorageOSS }), Refuse{Reason: "StorageNotSupported", Message: problemOf(func(s *State) { s.Spec.StorageType = v1beta2.StorageOSS })}},
		"deletes the snapshots of a deleted EtcdBackup":                                  {one(goes(0)), Purge{Number: 1}},
		"stops a running attempt before it deletes the snapshots":                        {one(goes(0), attempt(Attempt{Generation: 1, Number: 1})), Cancel{}},
		"watches the deletion of the snapshots":                                          {one(goes(0), attempt(Attempt{Kind: KindPurge})), Watch{}},
		"reports a failed deletion of the snapshots":                                     {one(goes(0), attempt(Attempt{Kind: KindPurge, Result: &Result{Failure: &Failure{"AccessDenied", "no"}}})), Report{}},
		"waits before it deletes the snapshots again":                                    {one(goes(time.Minute), failedTries(1, time.Second)), Backoff{At: t0.Add(time.Second)}},
		"deletes the snapshots again after the pause":                                    {one(goes(time.Minute), failedTries(1, 0)), Purge{Number: 2}},
		"removes the finalizer when all snapshots are deleted":                           {one(goes(0), attempt(Attempt{Kind: KindPurge, Result: &Result{Pruned: 3}})), Release{Removed: 3}},
		"gives up after ten minutes if the store does not answer":                        {one(goes(11*time.Minute), attempt(Attempt{Kind: KindPurge, Result: &Result{Failure: &Failure{"StoreUnreachable", "no"}}})), Release{Cause: "no"}},
		"gives up after ten minutes if the operator was killed during each attempt":      {one(goes(11*time.Minute), stopped(3, time.Minute)), Release{Cause: "The operator could not delete them within 10m0s."}},
		"deletes the snapshots after a long downtime of the operator":                    {one(goes(24 * time.Hour)), Purge{Number: 1}},
		"removes the finalizer if deletionPolicy becomes Retain":                         {one(goes(0), func(s *State) { s.Spec.DeletionPolicy = v1beta2.DeletionRetain }), Release{}},
		"removes the finalizer if the spec is invalid":                                   {one(goes(0), func(s *State) { s.Spec.StorageType = v1beta2.StorageOSS }), Release{Cause: "The operator cannot delete them, because the spec is invalid: storageType OSS is not supported. Alibaba Cloud OSS speaks the S3 protocol: write S3, and in s3.endpoint its S3-compatible endpoint, for example https://s3.oss-cn-hangzhou.aliyuncs.com."}},
		"a one-shot is deleted when its time to live is over":                            {one(ttl(60, time.Minute)), Expire{}},
		"a one-shot is kept until its time to live is over":                              {one(ttl(61, time.Minute)), Finished{Complete: true, Until: t0.Add(time.Second)}},
		"a one-shot with a changed spec takes a snapshot and is not deleted":             {one(ttl(60, time.Hour), edited), TakeSnapshot{Number: 1}},
		"runs the restore test of the newest snapshot when it is due":                    {series(proven(time.Minute), drillsAt("0 10 * * *"), drilledAt(time.Hour, "Passed")), Drill{Number: 1, Path: "bucket/dir/snap.db/ns/b/0000000000000001/x.db"}},
		"runs the restore test once":                                                     {series(proven(time.Minute), drillsAt("0 10 * * *"), drilledAt(0, "Passed")), Scheduled{At: t0.Add(59 * time.Minute), Drill: t0.Add(24 * time.Hour)}},
		"takes a snapshot first if both are due":                                         {series(proven(time.Hour), drillsAt("0 10 * * *")), TakeSnapshot{Number: 1}},
		"runs no restore test without a snapshot":                                        {series(failedTries(1, time.Second), drillsAt("* * * * *")), Backoff{At: t0.Add(time.Second)}},
		"retries a restore test that could not run":                                      {series(proven(time.Minute), drillsAt("@daily"), drillFailed(2, 0)), Drill{Number: 3, Path: "bucket/dir/snap.db/ns/b/0000000000000001/x.db"}},
		"waits before it retries a restore test":                                         {series(proven(time.Minute), drillsAt("@daily"), drillFailed(2, time.Second)), Scheduled{At: t0.Add(59 * time.Minute), Drill: t0.Add(time.Second)}},
		"runs the restore test of a complete one-shot":                                   {one(condition("Complete", "Complete", 1), taken, drillsAt("* * * * *")), Drill{Number: 1, Path: "bucket/dir/snap.db"}},
		"a suspended series runs no restore test":                                        {series(proven(time.Minute), suspends, drillsAt("* * * * *")), Suspended{}},
		"ignores a restore test from the future":                                         {series(proven(time.Minute), drillsAt("0 10 * * *"), drilledAt(-48*time.Hour, "Passed"), func(s *State) { s.CreatedAt = t0.Add(-time.Hour) }), Drill{Number: 1, Path: "bucket/dir/snap.db/ns/b/0000000000000001/x.db"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, next(test.state)); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoRequeueIsLongerThanAnHour(t *testing.T) {
	for name, test := range map[string]struct {
		step Step
		want time.Duration
	}{
		"requeues after an hour, because a timer does not follow a changed clock": {Scheduled{At: t0.Add(24 * time.Hour)}, time.Hour},
		"requeues when a restore test is due before the snapshot":                 {Scheduled{At: t0.Add(time.Hour), Drill: t0.Add(time.Minute)}, time.Minute},
		"requeues when the time to live is over":                                  {Finished{Until: t0.Add(time.Second)}, time.Second},
		"does not requeue if nothing is due":                                      {Finished{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.step.describe(one()).Requeue; got != test.want {
				t.Errorf("sleeps %s, want %s", got, test.want)
			}
		})
	}
}

func TestKeepWithinHasNumbersWithUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "2w": 14 * 24 * time.Hour, "1d12h": 36 * time.Hour, "90m30s": 90*time.Minute + 30*time.Second,
		"99999w": century, "99999w99999w99999w": century,
	} {
		if got, err := keepWithin(text); err != nil || got != want {
			t.Errorf("%q is %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"1", "d", "1y", "-1d", "1.5d", "100000d", "1d 2h"} {
		if got, err := keepWithin(text); err == nil || !strings.Contains(err.Error(), "2w") {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

// TestASeriesTakesOneSnapshotForEachTime follows a series through two days. In that time, the operator is down, a user
// asks for a snapshot, and the clock is set back.
func TestASeriesTakesOneSnapshotForEachTime(t *testing.T) {
	s := cron("0 */6 * * *", justMade)
	var taken []string
	for minute := range 48 * 60 {
		s.Now = t0.Add(time.Duration(minute) * time.Minute)
		switch {
		case minute > 10*60 && minute < 25*60:
			continue // the operator is down
		case minute == 30*60:
			s.Request = "now"
		case minute > 40*60:
			s.Now = s.Now.Add(-90 * time.Minute) // the clock was set back
		}
		if _, due := next(s).(TakeSnapshot); !due {
			continue
		}
		taken = append(taken, s.Now.Format("02 15:04"))
		s.Status.Snapshot = &v1beta2.Snapshot{Path: "bucket/dir/snap.db/ns/b/1/x.db", CreatedAt: stamp(s.Now)}
		s.Status.HandledRequest = s.Request
	}
	want := "21 12:00, 21 18:00, 22 11:00, 22 12:00, 22 16:00, 22 18:00, 23 00:00, 23 06:00"
	if got := strings.Join(taken, ", "); got != want {
		t.Errorf("took %s\nwant %s", got, want)
	}
}

func FuzzPlanBySchedule(f *testing.F) {
	f.Add("0 3 * * *", "Europe/Berlin", int64(3600), int64(60), true)
	f.Add("30 2 29 2 *", "", int64(-3600), int64(0), false)
	f.Fuzz(func(t *testing.T, expression, zone string, ago, limit int64, known bool) {
		s := cron(expression, deadline(limit), func(s *State) { s.Spec.BackupPolicy.TimeZone = zone })
		if s.Problem != nil {
			return
		}
		if known {
			proven(time.Duration(ago%(1<<28)) * time.Second)(&s)
		}
		switch step := next(s).(type) {
		case TakeSnapshot:
		case Scheduled:
			if !step.At.After(s.Now) || step.describe(s).Requeue <= 0 {
				t.Fatal(fmt.Sprint("waits for ", step.At, " at ", s.Now))
			}
		default:
			t.Fatalf("%T", step)
		}
	})
}

// A large number means that no run is too late. Without this, it overflows, and every run is skipped.
func TestAnEndlessStartingDeadlineSkipsNoRun(t *testing.T) {
	s := cron("0 * * * *", deadline(9_999_999_999))
	s.CreatedAt = t0.Add(-2 * time.Hour)
	s.Spec.BackupPolicy.Immediate = false
	if step, _ := Plan(s); step != (TakeSnapshot{Number: 1}) {
		t.Errorf("%#v", step)
	}
	if err := s.Problem; err != nil {
		t.Log(err)
	}
}

// An interval may be written in nanoseconds, or mean never. Without this, it overflows, and the operator takes one snapshot
// after the other.
func TestAnEndlessIntervalTakesNoSnapshotAfterTheOther(t *testing.T) {
	for _, seconds := range []int64{10_000_000_000, 3_600_000_000_000, 86_400_000_000_000} {
		s := series(proven(time.Hour), func(s *State) { s.Spec.BackupPolicy.BackupIntervalInSecond = seconds })
		if s.Problem != nil {
			continue
		}
		if step, _ := Plan(s); step == (TakeSnapshot{Number: 1}) {
			t.Errorf("an interval of %d s is due an hour after the newest snapshot", seconds)
		}
		w := newWorld(t)
		for range 3 {
			w.attempt(s)
		}
		if len(w.saves) > 1 {
			t.Errorf("an interval of %d s: %d snapshots in one second", seconds, len(w.saves))
		}
	}
}

// Without this, a restore test that failed while the clock was ten days ahead is not repeated for ten days.
func TestAClockThatWasAheadDelaysNoRestoreTestForDays(t *testing.T) {
	s := series(proven(time.Minute), func(s *State) {
		s.Spec.Drill = &v1beta2.DrillPolicy{Schedule: "0 0 1 1 *"}
		s.Status.DrillAttempts, s.Status.NextDrillTime = 1, &metav1.Time{Time: t0.Add(240 * time.Hour)}
	})
	if step, _ := Plan(s); step != (Drill{Number: 2, Path: s.Status.Snapshot.Path}) {
		t.Errorf("%#v", step)
	}
}
