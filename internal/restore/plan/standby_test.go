package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/status"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

var theArchive = v1beta2.RestoreFollowStatus{
	Source: v1beta2.RestoreSource{StorageType: v1beta2.StorageS3, Bucket: "backups", Key: "daily/ns/source/", Secret: "aws"}, Cluster: "ns/source",
	ClusterUID: "uid-source", ClusterID: "00000000000000aa",
}

// toFollow makes the EtcdRestore that of a standby.
func toFollow(s *state.State) {
	s.Restore.Spec.Follow = &v1beta2.FollowSpec{}
	s.Restore.Spec.S3.Path = "backups/daily"
}

// provenToFollow: the base of the archive is verified.
func provenToFollow(s *state.State) {
	toFollow(s)
	s.Restore.Status.Snapshot, s.Restore.Status.Follow = theSnapshot.DeepCopy(), theArchive.DeepCopy()
}

// follows: the cluster reports how far its standby is.
func follows(f v1beta2.FollowStatus) func(*state.State) {
	return func(s *state.State) {
		provenToFollow(s)
		withProgress(v1beta2.RestoreSeeding)(s)
		s.Cluster.Status.Restore.Follow = &f
	}
}

func TestAStandbyReadsTheNewestBaseOfAFolder(t *testing.T) {
	want := source.Choice{Folder: true, Follow: true}
	got, is := next(given(toFollow)).(steps.Verify)
	if diff := cmp.Diff(want, got.Choice); !is || diff != "" || got.Source.Key != "daily/" {
		t.Errorf("it reads %s; want -, got +:\n%s", got.Source.Key, diff)
	}
	of := given(toFollow, selecting(v1beta2.SnapshotSelector{ClusterID: "00000000000000bb"}))
	if got, is := next(of).(steps.Verify); !is || got.Choice.ClusterID != "00000000000000bb" {
		t.Errorf("with a cluster ID it reads %+v", got)
	}
}

// An earlier version of cluster-operator restores status.source once, and the standby would serve beside its source.
func TestAStandbyHasNoSourceThatIsRestoredOnce(t *testing.T) {
	s := given(toFollow, withProof(state.Proof{Progress: state.ProofDone, Source: theSource, Snapshot: theSnapshot, Format: "3.6", Follow: &theArchive}))
	step := next(s)
	got := status.New(s, step, nil)
	if got.Source != nil || got.SignedURL != nil || got.Follow == nil || got.Follow.Cluster != "ns/source" || !meta.IsStatusConditionTrue(got.Conditions, v1beta2.ConditionVerified) {
		t.Errorf("the step %T leads to %+v", step, got)
	}
	s.Restore.Status, s.Proof = got, state.Proof{}
	if !s.Proven() {
		t.Error("the base is read again")
	}
}

func TestAnEtcdClusterThatHasFormedBecomesNoStandby(t *testing.T) {
	s := given(toFollow, func(s *state.State) { s.Cluster.Status.ClusterID = "00000000000000cc" })
	if fail, is := next(s).(steps.Fail); !is || fail.Reason != v1beta2.ReasonRestoreRefused || !strings.Contains(fail.Message, "never formed") {
		t.Errorf("got %+v", next(s))
	}
}

func TestTheStatusSaysHowFarAStandbyIs(t *testing.T) {
	at := metav1.NewTime(now.Add(-time.Minute))
	for name, test := range map[string]struct {
		follow v1beta2.FollowStatus
		is     metav1.ConditionStatus
		reason string
		says   string
	}{
		"before its first base": {v1beta2.FollowStatus{Message: "the bucket does not exist"}, metav1.ConditionFalse, v1beta2.ReasonFollowingBehind, "the bucket does not exist"},
		"up to date":            {v1beta2.FollowStatus{Timeline: 1, Revision: 70, Time: &at, LagSeconds: ptr.To[int64](10)}, metav1.ConditionTrue, v1beta2.ReasonFollowing, "ns/source"},
		"behind":                {v1beta2.FollowStatus{Timeline: 1, Revision: 70, Time: &at, LagSeconds: ptr.To[int64](60)}, metav1.ConditionFalse, v1beta2.ReasonFollowingBehind, "behind"},
		"it does not answer":    {v1beta2.FollowStatus{Timeline: 1, Revision: 70, Time: &at, Message: "its node is lost"}, metav1.ConditionFalse, v1beta2.ReasonFollowingBehind, "its node is lost"},
		"it cannot continue":    {v1beta2.FollowStatus{Timeline: 1, Revision: 70, LagSeconds: ptr.To[int64](0), Cause: "Gap", Message: "lost"}, metav1.ConditionFalse, v1beta2.ReasonFollowingBroken, "Gap"},
	} {
		t.Run(name, func(t *testing.T) {
			s := given(follows(test.follow))
			got := status.New(s, next(s), nil)
			ready, following := meta.FindStatusCondition(got.Conditions, v1beta2.ConditionReady), meta.FindStatusCondition(got.Conditions, v1beta2.ConditionFollowing)
			if ready.Reason != v1beta2.ReasonFollowing || ready.Status != metav1.ConditionFalse {
				t.Errorf("Ready is %+v", ready)
			}
			if following.Status != test.is || following.Reason != test.reason || !strings.Contains(following.Message, test.says) {
				t.Errorf("Following is %+v", following)
			}
			if got.Follow.Revision != test.follow.Revision || got.Follow.Cluster != "ns/source" {
				t.Errorf("the status has %+v", got.Follow)
			}
		})
	}
}

// cluster-operator reads only the status.
func TestThePromotionIsCopiedIntoTheStatus(t *testing.T) {
	s := given(follows(v1beta2.FollowStatus{Timeline: 1, Revision: 70}), func(s *state.State) { s.Restore.Spec.Follow.Promote = v1beta2.FollowPromoteNow })
	if got := status.New(s, next(s), nil); got.Follow.Promote != v1beta2.FollowPromoteNow {
		t.Errorf("the status has %+v", got.Follow)
	}
}

func TestACompleteStandbySaysWhichWritesItHas(t *testing.T) {
	at := metav1.NewTime(now.Add(-time.Minute))
	s := given(follows(v1beta2.FollowStatus{Promote: v1beta2.FollowPromoteNow, Promoted: &v1beta2.PromotedStatus{Timeline: 1, Revision: 70, Time: &at}}))
	s.Restore.Spec.Follow.Promote = v1beta2.FollowPromoteNow
	s.Cluster.Status.Restore.Step = v1beta2.RestoreComplete
	got := status.New(s, next(s), nil)
	complete := meta.FindStatusCondition(got.Conditions, v1beta2.ConditionComplete)
	for _, want := range []string{"up to revision 70", at.UTC().Format(time.RFC3339), "Later writes of the source are lost"} {
		if !strings.Contains(complete.Message, want) {
			t.Errorf("%q lacks %q", complete.Message, want)
		}
	}
	if got.Follow.Promoted == nil || got.Follow.Promoted.Revision != 70 {
		t.Errorf("the status has %+v", got.Follow)
	}
}

// The promotion changes the spec, and must not make the EtcdRestore another one.
func TestAPromotionDoesNotChangeTheHashOfTheSpec(t *testing.T) {
	s := given(toFollow)
	before := s.Restore.Spec.Hash()
	s.Restore.Spec.Follow.Promote = v1beta2.FollowPromoteNow
	if s.Restore.Spec.Hash() != before {
		t.Error("the hash is another one")
	}
	s.Restore.Spec.Follow = nil
	if s.Restore.Spec.Hash() == before {
		t.Error("a restore has the hash of a standby")
	}
}
