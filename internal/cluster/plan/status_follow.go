package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// setFollow says how far a standby is, what it was told, and what it had at its promotion.
func setFollow(restore *v1beta2.ClusterRestoreStatus, s state.State, step steps.Step) {
	if restore == nil || restore.Follow == nil {
		return
	}
	f := restore.Follow
	standby, ok := state.SeedOf(s, restore.Incarnation)
	if wait, is := step.(steps.Wait); is && wait.Stalled && f.LagSeconds != nil && (standby.Seed == nil || standby.Seed.Following == nil) {
		lagUnknown(f, wait.Message, s.Now)
	}
	if !ok || standby.Seed == nil {
		return
	}
	if standby.Seed.Promoting && f.Promote == "" { // the operator was killed before it wrote the status
		f.Promote = promotionOf(standby.Seed.Planned)
	}
	if p := standby.Seed.Promoted; p != nil && f.Promoted == nil {
		*f = v1beta2.FollowStatus{Timeline: p.Timeline, Revision: p.Revision, Time: p.Time, Promote: promotionOf(p.Planned), Promoted: p.DeepCopy()}
		if p.Planned {
			restore.RevisionBump = 0 // the source has stopped, so no client is ahead
		}
	}
	if said := standby.Seed.Following; said != nil && f.Promoted == nil {
		followed(f, *said, s.Now)
	}
}

// followed takes over what a standby says of itself. The numbers change at most every 10 seconds: each change is a write of the status.
func followed(f *v1beta2.FollowStatus, said v1beta2.FollowStatus, now time.Time) {
	next := *said.DeepCopy()
	next.UpdateTime, next.Promote, next.LagSeconds = f.UpdateTime, f.Promote, coarseLag(said.LagSeconds)
	urgent := next.Cause != f.Cause || behind(next) != behind(*f) || (next.Revision == 0) != (f.Revision == 0)
	due := f.UpdateTime == nil || clock.Due(f.UpdateTime.Add(v1beta2.FollowUpdateInterval), v1beta2.FollowUpdateInterval, now)
	if equality.Semantic.DeepEqual(next, *f) || !urgent && !due {
		return
	}
	next.UpdateTime = ptr.To(metav1.NewTime(now).Rfc3339Copy())
	*f = next
}

func promotionOf(planned bool) v1beta2.FollowPromotion {
	return steps.PromoteStandby{Planned: planned}.Promotion()
}

// lagUnknown says that the lag of a standby is not known any more, and why. Its last answer may have been that it is up to date.
func lagUnknown(f *v1beta2.FollowStatus, why string, now time.Time) {
	f.LagSeconds, f.Message = nil, planning.Shorten(why, seed.MaxMessage)
	f.UpdateTime = ptr.To(metav1.NewTime(now).Rfc3339Copy())
}

func behind(f v1beta2.FollowStatus) bool {
	return f.LagSeconds != nil && time.Duration(*f.LagSeconds)*time.Second >= v1beta2.FollowLagLimit
}

// coarseLag rounds a lag down to 10 seconds, and from a minute on to minutes.
func coarseLag(lag *int64) *int64 {
	if lag == nil {
		return nil
	}
	step := int64(10)
	if *lag >= 60 {
		step = 60
	}
	return ptr.To(max(*lag, 0) / step * step)
}
