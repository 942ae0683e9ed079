package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func deadline(seconds int64) statetest.Change {
	return func(s *state.State) { s.Spec.BackupPolicy.StartingDeadlineSeconds = &seconds }
}

func inBerlin(s *state.State) { s.Spec.BackupPolicy.TimeZone = "Europe/Berlin" }
func justMade(s *state.State) { s.CreatedAt = statetest.T0 }

func held(s *state.State) { s.Held = true }

// drilledAt: the last restore test ended that long ago.
func drilledAt(ago time.Duration, result v1beta2.DrillResult) statetest.Change {
	return func(s *state.State) {
		s.Status.LastDrill = &v1beta2.BackupDrill{Path: "bucket/dir/snap.db", Result: result, Time: metav1.Time{Time: statetest.T0.Add(-ago)}}
	}
}

func drillFailed(n int32, in time.Duration) statetest.Change {
	return func(s *state.State) {
		s.Status.DrillAttempts, s.Status.NextDrillTime = n, &metav1.Time{Time: statetest.T0.Add(in)}
	}
}

// goes: the EtcdBackup was deleted that long ago, has the finalizer, and deletes its snapshots.
func goes(ago time.Duration) statetest.Change {
	return func(s *state.State) {
		deleted(s)
		held(s)
		statetest.Deletes(s)
		s.DeletedAt, s.DeletingFor = statetest.T0.Add(-ago), ago
	}
}

// finally: the series was deleted that long ago, and asks for a final snapshot.
func finally(ago time.Duration) statetest.Change {
	return func(s *state.State) {
		deleted(s)
		held(s)
		s.Spec.FinalSnapshot = true
		s.DeletedAt, s.DeletingFor = statetest.T0.Add(-ago), ago
		s.Request = FinalRequest(s.DeletedAt)
	}
}

func prunedAgo(ago time.Duration) statetest.Change {
	return func(s *state.State) { s.Status.LastPruneTime = &metav1.Time{Time: statetest.T0.Add(-ago)} }
}

func ttl(seconds int32, endedAgo time.Duration) statetest.Change {
	return func(s *state.State) {
		condition("Complete", "Complete", 1)(s)
		s.Status.Conditions[0].LastTransitionTime.Time = statetest.T0.Add(-endedAgo)
		s.Spec.TTLSecondsAfterFinished = &seconds
	}
}

func taken(s *state.State) {
	s.Status.Snapshot = &v1beta2.Snapshot{Path: "bucket/dir/snap.db", CreatedAt: state.Stamp(statetest.T0)}
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
		state state.State
		want  Step
	}{
		"the first snapshot of a schedule is taken at its first time":                    {statetest.Cron("0 12 * * *", justMade), Scheduled{At: at("21 12:00")}},
		"and not forgotten when the operator was down then":                              {statetest.Cron("0 3 * * *"), TakeSnapshot{Number: 1}},
		"waits until the next snapshot is due":                                           {statetest.Cron("0 12 * * *", statetest.Proven(22*time.Hour)), Scheduled{At: at("21 12:00")}},
		"takes a snapshot in the second in which it is due":                              {statetest.Cron("0 10 * * *", statetest.Proven(24*time.Hour)), TakeSnapshot{Number: 1}},
		"takes no second snapshot in the second in which it was due":                     {statetest.Cron("0 10 * * *", statetest.Proven(0)), Scheduled{At: at("22 10:00")}},
		"takes one snapshot for ten missed ones":                                         {statetest.Cron("0 * * * *", statetest.Proven(10*time.Hour)), TakeSnapshot{Number: 1}},
		"uses the time zone of the schedule":                                             {statetest.Cron("0 12 * * *", inBerlin, statetest.Proven(22*time.Hour)), Scheduled{At: at("21 11:00")}},
		"skips a snapshot after its starting deadline":                                   {statetest.Cron("0 3 * * *", statetest.Proven(48*time.Hour), deadline(3600)), Scheduled{At: at("22 03:00")}},
		"takes a missed snapshot before its starting deadline":                           {statetest.Cron("30 9 * * *", statetest.Proven(48*time.Hour), deadline(3600)), TakeSnapshot{Number: 1}},
		"skips a snapshot of an interval after its starting deadline":                    {statetest.Series(statetest.Proven(90*time.Minute), deadline(60)), Scheduled{At: statetest.T0.Add(30 * time.Minute)}},
		"retries a snapshot that started before its deadline":                            {statetest.Cron("0 3 * * *", statetest.Proven(48*time.Hour), deadline(3600), failedTries(2, 0)), TakeSnapshot{Number: 3}},
		"a snapshot from the future does not delay a schedule":                           {statetest.Cron("0 * * * *", statetest.Proven(-365*24*time.Hour)), TakeSnapshot{Number: 1}},
		"a snapshot from the future does not delay an interval":                          {statetest.Series(statetest.Proven(-365 * 24 * time.Hour)), TakeSnapshot{Number: 1}},
		"clocks that differ by seconds do not matter":                                    {statetest.Series(statetest.Proven(-30 * time.Second)), Scheduled{At: statetest.T0.Add(time.Hour + 30*time.Second)}},
		"refuses an unknown time zone":                                                   {statetest.Cron("0 3 * * *", func(s *state.State) { s.Spec.BackupPolicy.TimeZone = "Europe/Bonn" }), Refuse{Reason: "InvalidSpec", Message: `backupPolicy: timeZone "Europe/Bonn" is unknown: write a name of the IANA time zone data base, such as Europe/Berlin`}},
		"refuses a schedule that is never due":                                           {statetest.Cron("0 0 30 2 *"), Refuse{Reason: "InvalidSpec", Message: `backupPolicy: schedule "0 0 30 2 *" is never due: there is no such date`}},
		"takes a snapshot at once if the annotation asks for it":                         {statetest.Cron("0 12 * * *", statetest.Proven(time.Minute), statetest.Asks("a", "")), TakeSnapshot{Number: 1}},
		"takes another one for a new value of the annotation":                            {statetest.Cron("0 12 * * *", statetest.Proven(time.Minute), statetest.Asks("b", "a")), TakeSnapshot{Number: 1}},
		"takes one snapshot for each value of the annotation":                            {statetest.Cron("0 12 * * *", statetest.Proven(time.Minute), statetest.Asks("a", "a")), Scheduled{At: at("21 12:00")}},
		"a one-shot ignores the annotation":                                              {statetest.One(condition("Complete", "Complete", 1), statetest.Asks("a", "")), Finished{Complete: true}},
		"takes no snapshot while it is suspended":                                        {statetest.Series(statetest.Proven(2*time.Hour), statetest.Suspends), Suspended{}},
		"retries no snapshot while it is suspended":                                      {statetest.Series(failedTries(2, 0), statetest.Suspends), Suspended{}},
		"takes a snapshot that the annotation asks for while it is suspended":            {statetest.Series(statetest.Proven(2*time.Hour), statetest.Suspends, statetest.Asks("a", "")), TakeSnapshot{Number: 1}},
		"deletes old snapshots while it is suspended":                                    {statetest.Series(statetest.Proven(2*time.Hour), statetest.Suspends, statetest.Keep(1), statetest.OfKnownCluster), Prune{}},
		"deletes old snapshots of a suspended series at once after a change of the spec": {statetest.Series(statetest.Proven(2*time.Hour), statetest.Suspends, statetest.Keep(1), statetest.OfKnownCluster, prunedAgo(time.Minute), statetest.Edited), Prune{}},
		"waits an hour after it deleted old snapshots of a suspended series":             {statetest.Series(statetest.Proven(2*time.Hour), statetest.Suspends, statetest.Keep(1), statetest.OfKnownCluster, prunedAgo(time.Minute)), Suspended{Prune: statetest.T0.Add(59 * time.Minute)}},
		"deletes nothing of a suspended series if all snapshots are kept":                {statetest.Series(statetest.Proven(2*time.Hour), statetest.Suspends, statetest.OfKnownCluster), Suspended{}},
		"takes a final snapshot of a deleted series":                                     {statetest.Series(finally(0)), TakeSnapshot{Number: 1}},
		"takes a final snapshot of a suspended series":                                   {statetest.Series(finally(0), statetest.Suspends), TakeSnapshot{Number: 1}},
		"stops an attempt before the final snapshot":                                     {statetest.Series(finally(0), statetest.Attempt(state.Attempt{Generation: 1, Number: 1})), Cancel{}},
		"watches the final snapshot":                                                     {statetest.Series(finally(0), statetest.Attempt(state.Attempt{Request: "final 2026-11-21T10:00:00Z", Generation: 1, Number: 1})), Watch{}},
		"reports the final snapshot":                                                     {statetest.Series(finally(0), statetest.Attempt(state.Attempt{Request: "final 2026-11-21T10:00:00Z", Generation: 1, Result: &state.Result{}})), Report{}},
		"takes the final snapshot once":                                                  {statetest.Series(finally(0), func(s *state.State) { s.Status.HandledRequest = s.Request }), Release{}},
		"repeats a failed final snapshot after the pause":                                {statetest.Series(finally(time.Minute), failedTries(1, time.Second)), Backoff{At: statetest.T0.Add(time.Second), Until: statetest.T0.Add(9 * time.Minute)}},
		"waits for the cluster of a final snapshot until 10 minutes have passed":         {statetest.Series(finally(4*time.Minute), statetest.Of(&state.Cluster{Name: "c"})), Wait{Reason: "ClusterNotAvailable", Message: "EtcdCluster etcd does not serve clients, so the operator takes no snapshot yet. ", Requeue: 6 * time.Minute}},
		"gives up the final snapshot after ten minutes":                                  {statetest.Series(finally(10 * time.Minute)), Release{Missed: "The operator could not take it within 10m0s."}},
		"stops a final snapshot that hangs":                                              {statetest.Series(finally(10*time.Minute), statetest.Attempt(state.Attempt{Request: "final 2026-11-21T09:50:00Z", Generation: 1, Number: 1})), Release{Missed: "The operator could not take it within 10m0s."}},
		"gives up the final snapshot if the EtcdCluster does not exist":                  {statetest.Series(finally(0), statetest.Of(nil)), Release{Missed: "The EtcdCluster etcd does not exist any more."}},
		"takes no final snapshot if the spec does not ask for it":                        {statetest.Series(finally(0), func(s *state.State) { s.Spec.FinalSnapshot = false }), Release{}},
		"sets the finalizer for the final snapshot":                                      {statetest.Series(func(s *state.State) { s.Spec.FinalSnapshot = true }), Hold{}},
		"a suspended series does not need its cluster":                                   {statetest.Series(statetest.Of(nil), statetest.Suspends), Suspended{}},
		"takes a snapshot without quorum if noQuorum is Mark":                            {statetest.One(statetest.Marks, statetest.Of(&state.Cluster{Message: "no quorum", ClientURLs: []string{"http://a:2379"}})), TakeSnapshot{Number: 1}},
		"sets the finalizer before the first snapshot":                                   {statetest.One(statetest.Deletes), Hold{}},
		"removes the finalizer if deletionPolicy is no longer Delete":                    {statetest.One(held), Release{}},
		"sets no finalizer for an invalid spec":                                          {statetest.One(statetest.Deletes, func(s *state.State) { s.Spec.StorageType = v1beta2.StorageOSS }), Refuse{Reason: "StorageNotSupported", Message: problemOf(func(s *state.State) { s.Spec.StorageType = v1beta2.StorageOSS })}},
		"deletes the snapshots of a deleted EtcdBackup":                                  {statetest.One(goes(0)), Purge{Number: 1}},
		"stops a running attempt before it deletes the snapshots":                        {statetest.One(goes(0), statetest.Attempt(state.Attempt{Generation: 1, Number: 1})), Cancel{}},
		"watches the deletion of the snapshots":                                          {statetest.One(goes(0), statetest.Attempt(state.Attempt{Kind: state.KindPurge})), Watch{}},
		"reports a failed deletion of the snapshots":                                     {statetest.One(goes(0), statetest.Attempt(state.Attempt{Kind: state.KindPurge, Result: &state.Result{Failure: &state.Failure{Reason: "AccessDenied", Message: "no"}}})), Report{}},
		"waits before it deletes the snapshots again":                                    {statetest.One(goes(time.Minute), failedTries(1, time.Second)), Backoff{At: statetest.T0.Add(time.Second)}},
		"deletes the snapshots again after the pause":                                    {statetest.One(goes(time.Minute), failedTries(1, 0)), Purge{Number: 2}},
		"removes the finalizer when all snapshots are deleted":                           {statetest.One(goes(0), statetest.Attempt(state.Attempt{Kind: state.KindPurge, Result: &state.Result{Pruned: 3}})), Release{Removed: 3}},
		"gives up after ten minutes if the store does not answer":                        {statetest.One(goes(11*time.Minute), statetest.Attempt(state.Attempt{Kind: state.KindPurge, Result: &state.Result{Failure: &state.Failure{Reason: "StoreUnreachable", Message: "no"}}})), Release{Cause: "no"}},
		"gives up after ten minutes if the operator was killed during each attempt":      {statetest.One(goes(11*time.Minute), statetest.Stopped(3, time.Minute)), Release{Cause: "The operator could not delete them within 10m0s."}},
		"deletes the snapshots after a long downtime of the operator":                    {statetest.One(goes(24 * time.Hour)), Purge{Number: 1}},
		"removes the finalizer if deletionPolicy becomes Retain":                         {statetest.One(goes(0), func(s *state.State) { s.Spec.DeletionPolicy = v1beta2.DeletionRetain }), Release{}},
		"removes the finalizer if the spec is invalid":                                   {statetest.One(goes(0), func(s *state.State) { s.Spec.StorageType = v1beta2.StorageOSS }), Release{Cause: "The operator cannot delete them, because the spec is invalid: storageType OSS is not supported. Alibaba Cloud OSS speaks the S3 protocol: write S3, and in s3.endpoint its S3-compatible endpoint, for example https://s3.oss-cn-hangzhou.aliyuncs.com."}},
		"a one-shot is deleted when its time to live is over":                            {statetest.One(ttl(60, time.Minute)), Expire{}},
		"a one-shot is kept until its time to live is over":                              {statetest.One(ttl(61, time.Minute)), Finished{Complete: true, Until: statetest.T0.Add(time.Second)}},
		"a one-shot with a changed spec takes a snapshot and is not deleted":             {statetest.One(ttl(60, time.Hour), statetest.Edited), TakeSnapshot{Number: 1}},
		"runs the restore test of the newest snapshot when it is due":                    {statetest.Series(statetest.Proven(time.Minute), statetest.DrillsAt("0 10 * * *"), drilledAt(time.Hour, "Passed")), Drill{Number: 1, Path: "bucket/dir/snap.db/ns/b/0000000000000001/x.db"}},
		"runs the restore test once":                                                     {statetest.Series(statetest.Proven(time.Minute), statetest.DrillsAt("0 10 * * *"), drilledAt(0, "Passed")), Scheduled{At: statetest.T0.Add(59 * time.Minute), Drill: statetest.T0.Add(24 * time.Hour)}},
		"takes a snapshot first if both are due":                                         {statetest.Series(statetest.Proven(time.Hour), statetest.DrillsAt("0 10 * * *")), TakeSnapshot{Number: 1}},
		"runs no restore test without a snapshot":                                        {statetest.Series(failedTries(1, time.Second), statetest.DrillsAt("* * * * *")), Backoff{At: statetest.T0.Add(time.Second)}},
		"retries a restore test that could not run":                                      {statetest.Series(statetest.Proven(time.Minute), statetest.DrillsAt("@daily"), drillFailed(2, 0)), Drill{Number: 3, Path: "bucket/dir/snap.db/ns/b/0000000000000001/x.db"}},
		"waits before it retries a restore test":                                         {statetest.Series(statetest.Proven(time.Minute), statetest.DrillsAt("@daily"), drillFailed(2, time.Second)), Scheduled{At: statetest.T0.Add(59 * time.Minute), Drill: statetest.T0.Add(time.Second)}},
		"runs the restore test of a complete one-shot":                                   {statetest.One(condition("Complete", "Complete", 1), taken, statetest.DrillsAt("* * * * *")), Drill{Number: 1, Path: "bucket/dir/snap.db"}},
		"a suspended series runs no restore test":                                        {statetest.Series(statetest.Proven(time.Minute), statetest.Suspends, statetest.DrillsAt("* * * * *")), Suspended{}},
		"ignores a restore test from the future":                                         {statetest.Series(statetest.Proven(time.Minute), statetest.DrillsAt("0 10 * * *"), drilledAt(-48*time.Hour, "Passed"), func(s *state.State) { s.CreatedAt = statetest.T0.Add(-time.Hour) }), Drill{Number: 1, Path: "bucket/dir/snap.db/ns/b/0000000000000001/x.db"}},
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
		"requeues after an hour, because a timer does not follow a changed clock": {Scheduled{At: statetest.T0.Add(24 * time.Hour)}, time.Hour},
		"requeues when a restore test is due before the snapshot":                 {Scheduled{At: statetest.T0.Add(time.Hour), Drill: statetest.T0.Add(time.Minute)}, time.Minute},
		"requeues when the time to live is over":                                  {Finished{Until: statetest.T0.Add(time.Second)}, time.Second},
		"does not requeue if nothing is due":                                      {Finished{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Describe(test.step, statetest.One()).Requeue; got != test.want {
				t.Errorf("sleeps %s, want %s", got, test.want)
			}
		})
	}
}

// TestASeriesTakesOneSnapshotForEachTime follows a series through two days. In that time, the operator is down, a user
// asks for a snapshot, and the clock is set back.
func TestASeriesTakesOneSnapshotForEachTime(t *testing.T) {
	s := statetest.Cron("0 */6 * * *", justMade)
	var taken []string
	for minute := range 48 * 60 {
		s.Now = statetest.T0.Add(time.Duration(minute) * time.Minute)
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
		s.Status.Snapshot = &v1beta2.Snapshot{Path: "bucket/dir/snap.db/ns/b/1/x.db", CreatedAt: state.Stamp(s.Now)}
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
		s := statetest.Cron(expression, deadline(limit), func(s *state.State) { s.Spec.BackupPolicy.TimeZone = zone })
		if s.Problem != nil {
			return
		}
		if known {
			statetest.Proven(time.Duration(ago%(1<<28)) * time.Second)(&s)
		}
		switch step := next(s).(type) {
		case TakeSnapshot:
		case Scheduled:
			if !step.At.After(s.Now) || Describe(step, s).Requeue <= 0 {
				t.Fatal(fmt.Sprint("waits for ", step.At, " at ", s.Now))
			}
		default:
			t.Fatalf("%T", step)
		}
	})
}

// A large number means that no run is too late. Without this, it overflows, and every run is skipped.
func TestAnEndlessStartingDeadlineSkipsNoRun(t *testing.T) {
	s := statetest.Cron("0 * * * *", deadline(9_999_999_999))
	s.CreatedAt = statetest.T0.Add(-2 * time.Hour)
	s.Spec.BackupPolicy.Immediate = false
	if step, _ := Plan(s); step != (TakeSnapshot{Number: 1}) {
		t.Errorf("%#v", step)
	}
	if err := s.Problem; err != nil {
		t.Log(err)
	}
}

// Without this, a restore test that failed while the clock was ten days ahead is not repeated for ten days.
func TestAClockThatWasAheadDelaysNoRestoreTestForDays(t *testing.T) {
	s := statetest.Series(statetest.Proven(time.Minute), func(s *state.State) {
		s.Spec.Drill = &v1beta2.DrillPolicy{Schedule: "0 0 1 1 *"}
		s.Status.DrillAttempts, s.Status.NextDrillTime = 1, &metav1.Time{Time: statetest.T0.Add(240 * time.Hour)}
	})
	if step, _ := Plan(s); step != (Drill{Number: 2, Path: s.Status.Snapshot.Path}) {
		t.Errorf("%#v", step)
	}
}

// Restore tests of many series are spread over time, so that they do not all read their snapshots in the same minute. One whose time has passed is due, and one
// whose share of the delay has not passed is not.
func TestARestoreTestIsDueAtItsOwnTimeAfterTheSchedule(t *testing.T) {
	s := statetest.Series(statetest.Proven(time.Minute), func(s *state.State) {
		s.Spec.Drill = &v1beta2.DrillPolicy{Schedule: "0 * * * *"}
		s.Status.LastDrill = &v1beta2.BackupDrill{Time: metav1.NewTime(statetest.T0)}
		s.Jitter = 20 * time.Minute
	})
	first := drillTurn(s)
	if hour := statetest.T0.Truncate(time.Hour).Add(time.Hour); !first.After(hour) || first.After(hour.Add(s.Jitter)) {
		t.Fatalf("the first one is due at %s", first)
	}
	s.Now = first.Add(-time.Second)
	if at := drillTurn(s); !at.Equal(first) {
		t.Errorf("a second before, it is due at %s instead of %s", at, first)
	}
	s.Now = first
	if at := drillTurn(s); at.After(s.Now) {
		t.Errorf("at its time, it is due at %s", at)
	}
}

// A user is alerted when a series has missed two snapshots. An alert about a series that is suspended, or about a single snapshot, would be wrong.
func TestASeriesIsOverdueAfterTwoMissedSnapshots(t *testing.T) {
	at := time.Date(2026, 1, 1, 9, 30, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		s    state.State
		want time.Time
	}{
		"each hour":            {statetest.Cron("0 * * * *"), time.Date(2026, 1, 1, 11, 0, 0, 0, time.UTC)},
		"suspended":            {statetest.Cron("0 * * * *", statetest.Suspends), time.Time{}},
		"a single snapshot":    {statetest.One(), time.Time{}},
		"not a valid schedule": {statetest.Cron("99 * * * *"), time.Time{}},
	} {
		if got := OverdueSince(test.s, at); !got.Equal(test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// The second location has the newest snapshot only if its content and its time are those of the newest one. Otherwise the copy is never made.
func TestACopyIsTheSameSnapshotOnlyIfContentAndTimeAreTheSame(t *testing.T) {
	of := func(sha, at string) *v1beta2.Snapshot { return &v1beta2.Snapshot{SHA256: sha, CreatedAt: at} }
	newest := of("a", "2026-01-01T10:00:00Z")
	for name, test := range map[string]struct {
		copy *v1beta2.Snapshot
		is   bool
	}{
		"there is no copy": {nil, false},
		"the same":         {of("a", "2026-01-01T10:00:00Z"), true},
		"another content":  {of("b", "2026-01-01T10:00:00Z"), false},
		"another time":     {of("a", "2026-01-01T09:00:00Z"), false},
	} {
		if is := Copied(&v1beta2.BackupCopies{Newest: test.copy}, newest); is != test.is {
			t.Errorf("%s: it is the same: %t", name, is)
		}
	}
}
