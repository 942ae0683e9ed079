package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/status"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

const theClusterID = "00000000000000aa"

func withPrefixes(s *state.State) {
	s.Restore.Spec.Prefixes = []string{"/a/", "/b/"}
	s.Cluster.Status.ClusterID = theClusterID
	s.Cluster.Status.MemberStatuses = []v1beta2.MemberStatus{{Name: "example-1", ClientURL: "https://example-1.example.ns.svc:2379"}}
}

func withCompared(s *state.State) {
	s.Restore.Status.Snapshot = &theSnapshot
	s.Restore.Status.Prefixes = &v1beta2.PrefixesStatus{
		ClusterID: theClusterID, Revision: 77, Time: metav1.NewTime(s.Now.Add(-time.Minute)).Rfc3339Copy(), Created: 3, Changed: 2, Source: &theSource,
	}
}

func withPresentSaved(s *state.State) {
	s.Restore.Status.SafetySnapshot = &v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "p", Time: s.Restore.Status.Prefixes.Time}
}

func withWriting(w state.Writing) func(*state.State) { return func(s *state.State) { s.Writing = w } }

// Keys are never written before the snapshot is proven, the present data is saved, and the status has both.
func TestKeysAreWrittenAfterTheProofAndTheSafetySnapshot(t *testing.T) {
	keys := &v1beta2.PrefixesStatus{ClusterID: theClusterID, Revision: 77}
	done := withProof(state.Proof{Progress: state.ProofDone, Asked: theSource, Source: theSource, Snapshot: theSnapshot, Format: "3.6.0", Keys: keys})
	dryRun := func(s *state.State) { s.Restore.Spec.DryRun = true }
	skip := func(s *state.State) { s.Restore.Spec.SafetySnapshot = v1beta2.SafetySnapshotSkip }
	restored := func(s *state.State) { s.Cluster.Status.ClusterID = "00000000000000bb" }
	recovery := func(since time.Duration, kept bool) func(*state.State) {
		return func(s *state.State) {
			at := metav1.NewTime(s.Restore.Status.Prefixes.Time.Add(since))
			if s.Cluster.Status.LastRecovery = (&v1beta2.PastRecovery{StartedAt: at}); !kept {
				s.Cluster.Status.LastRecovery, s.Cluster.Status.Recovery = nil, &v1beta2.ClusterRecoveryStatus{StartedAt: &at, ForcedAt: &at}
			}
		}
	}
	for name, c := range map[string]struct {
		state state.State
		want  steps.Step
	}{
		"recovered before":                {given(withPrefixes, withCompared, withPresentSaved, recovery(-time.Hour, true), recovery(-time.Hour, false)), steps.RestoreKeys{Start: true, Source: theSource}},
		"recovered meanwhile":             {given(withPrefixes, withCompared, withPresentSaved, recovery(time.Second, true)), steps.Fail{}},
		"recovering":                      {given(withPrefixes, withCompared, withPresentSaved, recovery(time.Second, false)), steps.Fail{}},
		"a proven snapshot":               {given(withPrefixes, done), steps.Accept{Source: theSource, Snapshot: theSnapshot, Keys: keys}},
		"a newer etcd wrote the snapshot": {given(withPrefixes, done, withVersion("3.5.1")), steps.Accept{Source: theSource, Snapshot: theSnapshot, Keys: keys}},
		"a dry run":                       {given(withPrefixes, done, dryRun), steps.Proved{Snapshot: theSnapshot, Keys: keys}},
		"nothing is saved":                {given(withPrefixes, withCompared), steps.SaveOldData{Start: true, Cluster: *given(withPrefixes, withCompared).KeysProgress(), Requeue: steps.ProgressInterval}},
		"no safety snapshot is wanted":    {given(withPrefixes, withCompared, skip), steps.RestoreKeys{Start: true, Source: theSource}},
		"the present data is saved":       {given(withPrefixes, withCompared, withPresentSaved), steps.RestoreKeys{Start: true, Source: theSource}},
		"the keys are written":            {given(withPrefixes, withCompared, withPresentSaved, withWriting(state.Writing{Progress: state.ProofRunning})), steps.RestoreKeys{Source: theSource}},
		"all keys are written":            {given(withPrefixes, withCompared, withPresentSaved, withWriting(state.Writing{Progress: state.ProofDone, Conflicts: 1})), steps.CompleteKeys{Compared: *given(withPrefixes, withCompared).Restore.Status.Prefixes, Conflicts: 1}},
		"restored as a whole meanwhile":   {given(withPrefixes, withCompared, withPresentSaved, restored), steps.Fail{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := next(c.state)
			if _, fails := c.want.(steps.Fail); fails {
				if fail, is := got.(steps.Fail); !is || fail.Reason != v1beta2.ReasonRestoreRefused {
					t.Errorf("%+v", got)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// cluster-operator restores a whole cluster from each verified EtcdRestore with a source. One with prefixes must never look like that.
func TestNoStatusOfARestoreOfPrefixesHasASource(t *testing.T) {
	keys := &v1beta2.PrefixesStatus{ClusterID: theClusterID, Revision: 77, Time: metav1.NewTime(given().Now).Rfc3339Copy()}
	s := given(withPrefixes, withProof(state.Proof{Progress: state.ProofDone, Asked: theSource, Source: theSource, Snapshot: theSnapshot, Format: "3.6.0", Keys: keys,
		SignedURL: &v1beta2.SignedURLStatus{SecretName: "x"}}))
	for range 5 {
		step := next(s)
		s.Restore.Status = status.New(s, step, nil)
		if s.Restore.Status.Source != nil || s.Restore.Status.SignedURL != nil {
			t.Fatalf("%T: %+v", step, s.Restore.Status)
		}
		switch step.(type) {
		case steps.SaveOldData:
			s.Safety = state.Safety{Progress: state.ProofDone, Path: "p", Time: keys.Time.Time}
		case steps.RestoreKeys:
			s.Writing = state.Writing{Progress: state.ProofDone, Conflicts: 2, First: []string{`"/a/1"`}}
		}
	}
	status := s.Restore.Status
	if !s.Finished() || !status.Succeeded || status.Prefixes.Conflicts != 2 || status.SafetySnapshot == nil || !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionComplete) {
		t.Errorf("%+v", status)
	}
	if message := s.Ready().Message; !strings.Contains(message, `2 keys were not changed, because clients have written them since revision 77: "/a/1"`) {
		t.Error(message)
	}
}

// Who can write the status of an EtcdCluster could have the operator write keys into the cluster of another namespace.
func TestKeysAreOnlyWrittenToMembersOfTheCluster(t *testing.T) {
	for url, own := range map[string]bool{
		"https://example-1.example.ns.svc:2379":    true,
		"http://example-1.example.ns.svc:2379":     true,
		"https://example-1.example.other.svc:2379": false,
		"https://other-1.other.ns.svc:2379":        false,
		"https://10.1.2.3:2379":                    false,
		"https://example.ns.svc":                   false,
		"https://x.example.nsx.svc:2379":           false,
		"https://x.example.ns.svcx.attacker:2379":  false,
		"https://a.x.example.ns.svc:2379":          false,
		"https://attacker.example/.example.ns.svc": false,
		"https://attacker.example#.example.ns.svc": false,
		"%": false,
	} {
		s := given(withPrefixes, withCompared, func(s *state.State) { s.Cluster.Status.MemberStatuses[0].ClientURL = url })
		if got := len(state.WriteOrderOf(s).Cluster.URLs) == 1; got != own {
			t.Errorf("%s: %v", url, got)
		}
	}
}

// A cluster that is paused, hibernates, is read-only, or is being restored is not written to. The status says what to do.
func TestARestoreOfPrefixesWaitsForACluster(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*state.State)
		reason string
	}{
		"there is none":         {withoutCluster, v1beta2.ReasonWaitingForCluster},
		"it is paused":          {func(s *state.State) { s.Cluster.Spec.Paused = true }, v1beta2.ReasonPending},
		"it hibernates":         {func(s *state.State) { s.Cluster.Spec.Hibernate = true }, v1beta2.ReasonPending},
		"it is read-only":       {func(s *state.State) { s.Cluster.Spec.ReadOnly = true }, v1beta2.ReasonPending},
		"it is being restored":  {func(s *state.State) { s.Ahead = "whole" }, v1beta2.ReasonQueued},
		"it is not formed":      {func(s *state.State) { s.Cluster.Status.ClusterID = "" }, v1beta2.ReasonWaitingForCluster},
		"it has no members yet": {func(s *state.State) { s.Cluster.Status.MemberStatuses = nil }, v1beta2.ReasonWaitingForCluster},
	} {
		for _, before := range []func(*state.State){func(*state.State) {}, func(s *state.State) {
			if s.Cluster != nil {
				withCompared(s)
				withPresentSaved(s)
			}
		}} {
			got, is := next(given(withPrefixes, c.change, before)).(steps.Wait)
			if !is || got.Reason != c.reason {
				t.Errorf("%s: %+v", name, next(given(withPrefixes, c.change, before)))
			}
		}
	}
}

// An attempt that failed is repeated after a pause that the message has, and not at once.
func TestAFailedWriteIsRepeatedAfterAPause(t *testing.T) {
	failed := withWriting(state.Writing{Progress: state.ProofFailed, Reason: v1beta2.ReasonRetrying, Message: "No quorum.", Ended: given().Now})
	attempts := func(s *state.State) { s.Restore.Status.Attempts = 3 }
	s := given(withPrefixes, withCompared, withPresentSaved, failed, attempts)
	if wait, is := next(s).(steps.Wait); !is || wait.Requeue != 20*time.Second || !strings.Contains(wait.Message, "The next attempt is at") {
		t.Errorf("%+v", next(s))
	}
	s.Now = s.Now.Add(20 * time.Second)
	if diff := cmp.Diff(steps.Step(steps.RestoreKeys{Start: true, Source: theSource}), next(s)); diff != "" || status.New(s, next(s), nil).Attempts != 4 {
		t.Errorf("want -, got +:\n%s", diff)
	}
	s.Writing.Final, s.Writing.Reason = true, v1beta2.ReasonSnapshotChanged
	if fail, is := next(s).(steps.Fail); !is || fail.Reason != v1beta2.ReasonSnapshotChanged {
		t.Errorf("%+v", next(s))
	}
}

var failedWrite = withWriting(state.Writing{Progress: state.ProofFailed, Reason: v1beta2.ReasonRetrying, Message: "No quorum.", Ended: now.Add(-time.Hour)})

// A first attempt to compare failed, for example because no member answered. Then the EtcdCluster is deleted. The next attempt compares nothing, and its
// result is accepted like that of a whole restore: status.source is set, for which any earlier cluster-operator begins a restore of the whole
// cluster, and the EtcdRestore never leaves this state.
func TestARetryWithoutAClusterIsNotAcceptedAsAWholeRestore(t *testing.T) {
	s := given(withPrefixes, withoutCluster, withProof(state.Proof{Progress: state.ProofFailed, Asked: theSource, Reason: v1beta2.ReasonRetrying, Ended: now.Add(-time.Hour)}))
	verify, is := next(s).(steps.Verify)
	if !is {
		return // it waits for the cluster
	}
	if verify.Keys == nil {
		t.Error("the attempt reads the snapshot without a comparison of keys")
	}
	s.Restore.Status = status.New(s, verify, nil)
	s.Proof = state.Proof{Progress: state.ProofDone, Asked: theSource, Source: theSource, Snapshot: theSnapshot, Format: "3.6.0"} // what the act returns without Keys
	step := next(s)
	s.Restore.Status = status.New(s, step, nil)
	if s.Restore.Status.Source != nil {
		t.Errorf("%T: an EtcdRestore of prefixes has status.source, and Verified is %v", step, meta.IsStatusConditionTrue(s.Restore.Status.Conditions, v1beta2.ConditionVerified))
	}
	// The EtcdCluster exists again.
	back := given(withPrefixes)
	s.Cluster = back.Cluster
	for range 3 {
		step = next(s)
		s.Restore.Status = status.New(s, step, nil)
	}
	if _, is := step.(steps.Accept); is {
		t.Errorf("each pass accepts the snapshot again: the comparison is never made")
	}
	other := given().Restore
	other.Name, other.UID, other.CreationTimestamp = "whole", "uid-whole", metav1.NewTime(now)
	if ahead := Ahead([]v1beta2.EtcdRestore{s.Restore}, s.Cluster, &other); ahead != "" {
		t.Errorf("a restore of the whole cluster waits for %s", ahead)
	}
}

// The write failed, and somebody deletes the EtcdCluster. The next attempt ends in a nil pointer, in each pass.
func TestAWriteIsNotRepeatedWithoutACluster(t *testing.T) {
	s := given(withPrefixes, withCompared, withPresentSaved, failedWrite, withoutCluster)
	step := next(s)
	if writes, is := step.(steps.RestoreKeys); is && writes.Start {
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("the act of %T panics: %v", step, p)
			}
		}()
		state.WriteOrderOf(s)
	}
}

// The comparison is in the status, its proof is still in memory, and the EtcdCluster has just been deleted.
func TestNoSafetySnapshotIsBegunWithoutACluster(t *testing.T) {
	s := given(withPrefixes, withCompared, withoutCluster, withProof(state.Proof{Progress: state.ProofDone, Asked: theSource, Source: theSource, Snapshot: theSnapshot}))
	step := next(s)
	if save, is := step.(steps.SaveOldData); is && save.Start {
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("the act of %T panics: %v", step, p)
			}
		}()
		state.SafetyOrderOf(s)
	}
}

// After an attempt that failed, the operator writes into a cluster that was paused, that hibernates, that is read-only or that another EtcdRestore
// replaces: the rule that waits is only asked before the first attempt.
func TestAWriteThatFailedWaitsForTheClusterToo(t *testing.T) {
	for name, change := range map[string]func(*state.State){
		"it is paused":         func(s *state.State) { s.Cluster.Spec.Paused = true },
		"it hibernates":        func(s *state.State) { s.Cluster.Spec.Hibernate = true },
		"it is read-only":      func(s *state.State) { s.Cluster.Spec.ReadOnly = true },
		"it is being restored": func(s *state.State) { s.Ahead = "whole" },
	} {
		s := given(withPrefixes, withCompared, withPresentSaved, failedWrite, change)
		if step, is := next(s).(steps.RestoreKeys); is && step.Start {
			t.Errorf("%s: %T", name, step)
		}
	}
}

// The manual: Required tries again for 15 minutes, and then the restore fails.
func TestARequiredSafetySnapshotEndsTheRestoreOfPrefixes(t *testing.T) {
	s := given(withPrefixes, withCompared)
	s.Restore.Spec.SafetySnapshot = v1beta2.SafetySnapshotRequired
	for range 100 { // 25 hours
		s.Now = s.Now.Add(15 * time.Minute)
		s.Safety = state.Safety{Progress: state.ProofFailed, Refused: true, Message: "the store refuses to write", Ended: s.Now.Add(-time.Minute)}
		step := next(s)
		s.Restore.Status = status.New(s, step, nil)
		if s.Finished() || meta.IsStatusConditionTrue(s.Restore.Status.Conditions, v1beta2.ConditionStalled) {
			return
		}
	}
	t.Errorf("after a day it is neither failed nor Stalled: %+v", meta.FindStatusCondition(s.Restore.Status.Conditions, v1beta2.ConditionReady))
}

// A member or a snapshot ends this process while keys are written. The status has recorded the attempt, and the next process must pause before it
// repeats it, as after a proof: otherwise one namespace ends the operator of all again and again.
func TestAWriteThatEndedTheOperatorIsRepeatedAfterAPause(t *testing.T) {
	s := given(withPrefixes, withCompared, withPresentSaved)
	for attempt := range 5 {
		step := next(s)
		if writes, is := step.(steps.RestoreKeys); !is || !writes.Start {
			return // it pauses
		} else if attempt > 0 {
			t.Errorf("process %d begins at once", attempt+1)
		}
		s.Restore.Status = status.New(s, step, nil) // recorded, and then the process ends: Writing is none again
		s.Now = s.Now.Add(10 * time.Second)
	}
}

// The DNS domain in spec.pod.ClusterDomain leads to whatever the tenant wants, for example to the etcd of another namespace. The manual has
// ".cluster.local" as its example, and cluster-operator accepts dots at both ends.
func TestTheDomainOfATenantLeadsNoKeyElsewhere(t *testing.T) {
	for _, domain := range []string{"10-0-0-5.sslip.io", "cluster.local", "cluster.local."} {
		s := given(withPrefixes, withCompared, func(s *state.State) {
			s.Cluster.Status.MemberStatuses[0].ClientURL = "http://example-1.example.ns.svc." + domain + ":2379"
		})
		if got := state.WriteOrderOf(s).Cluster.URLs; len(got) != 1 || got[0] != "http://example-1.example.ns.svc:2379" {
			t.Errorf("%s: keys are written to %q", domain, got)
		}
	}
}
