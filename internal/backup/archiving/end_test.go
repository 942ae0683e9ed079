package archiving

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/inventory"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

func TestAStoppedArchiverStillReportsWhatItStoredLast(t *testing.T) {
	key := worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: "b"}, UID: "1"}
	last := []archive.Range{{Timeline: 1, To: archive.Point{Revision: 7}}}
	p := New(func(ctx context.Context, a *Archiver) {
		a.update(func(v *state.Archive) { v.Begun, v.Surveyed, v.Want = true, true, "a base" })
		<-ctx.Done()
		a.update(func(v *state.Archive) { v.Ranges = last }) // it stores its last segment when it is stopped
	}, nil)
	told := make(chan struct{}, 10)
	p.notify = func(worker.Key) { told <- struct{}{} }
	p.Set(key, &Spec{})
	p.Set(key, nil)
	<-told
	view, busy := p.Find(key)
	if busy || view == nil || len(view.Ranges) != 1 || view.Begun || view.Want != "" {
		t.Errorf("after the end, the view is %+v, busy %t", view, busy)
	}
	p.Set(key, &Spec{})
	if view, _ := p.Find(key); view == nil || len(view.Ranges) > 0 {
		t.Errorf("the next archiver begins with the view %+v of the one before", view)
	}
	p.ForgetOthers(key.Object, "another UID")
	<-told
	if view, _ := p.Find(key); view != nil {
		t.Errorf("the view of a deleted EtcdBackup is %+v", view)
	}
}

// The time of a base is rounded up to a second, so the first change after it may have the same time. If its cluster is lost then, the
// status must still say that this change can be restored.
func TestAChangeInTheSecondOfItsBaseCanBeRestored(t *testing.T) {
	base := archive.Point{Revision: 8, At: statetest.T0}
	survey := archive.Survey{Unbroken: 8, Covered: true, Ranges: []archive.Range{{Timeline: 1, From: base, To: base}}}
	for _, c := range []struct {
		stored archive.Point
		want   archive.Point
	}{
		{archive.Point{Revision: 9, At: statetest.T0}, archive.Point{Revision: 9, At: statetest.T0}},
		{archive.Point{Revision: 8, At: statetest.T0.Add(time.Second)}, archive.Point{Revision: 8, At: statetest.T0.Add(time.Second)}},
		{archive.Point{Revision: 9, At: statetest.T0.Add(-time.Second)}, base},
		{archive.Point{Revision: 7, At: statetest.T0.Add(time.Second)}, base},
	} {
		ranges, covered := inventory.Extended(survey, archiver.Status{Timeline: 1, Unbroken: 8, Stored: c.stored})
		if got := ranges[0].To; got != c.want || !covered {
			t.Errorf("with %+v stored, the range ends with %+v, want %+v", c.stored, got, c.want)
		}
	}
}

// The archiver of a recovered cluster may have the only copy of changes that wait for the store. It continues beside the next archiver
// until the process ends or the spec changes.
func TestAnArchiverOfARecoveredClusterStoresWhatItHas(t *testing.T) {
	key := worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: "b"}, UID: "1"}
	for name, test := range map[string]struct {
		end  func(*Archives)
		ends bool
	}{
		"the next archiver starts":               {func(p *Archives) { p.Set(key, &Spec{recovery: "of Monday"}) }, false},
		"the spec changes":                       {func(p *Archives) { p.Set(key, &Spec{recovery: "of Monday", maxLag: time.Hour}) }, true},
		"the spec no longer asks for an archive": {func(p *Archives) { p.Set(key, nil) }, true},
		"the EtcdBackup is deleted":              {func(p *Archives) { p.ForgetOthers(key.Object, "2") }, true},
		"the process ends": {func(p *Archives) {
			ctx, end := context.WithCancel(t.Context())
			end()
			_ = p.Run(ctx)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			causes, hurried := make(chan error, 2), make(chan struct{}, 2)
			p := New(func(ctx context.Context, a *Archiver) {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				if errors.Is(context.Cause(ctx), archiver.ErrRecovery) {
					<-a.hurried
				}
				hurried <- struct{}{}
			}, nil)
			p.Set(key, &Spec{})
			p.Drain(key)
			if cause := <-causes; !errors.Is(cause, archiver.ErrRecovery) {
				t.Errorf("the archiver is stopped with %v", cause)
			}
			test.end(p)
			patience := 100 * time.Millisecond
			if test.ends {
				patience = 10 * time.Second
			}
			select {
			case <-hurried:
				if !test.ends {
					t.Error("the archiver was told to end")
				}
			case <-time.After(patience):
				if test.ends {
					t.Error("the archiver was not told to end")
				}
			}
		})
	}
}

// The status of the cluster may show a recovery for the first time when its survivor already serves, because no pass saw the step Forcing.
// The archiver must then also keep the changes that wait for the store.
func TestAnArchiverWhoseRecoveryWasMissedStoresWhatItHas(t *testing.T) {
	key := worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: "b"}, UID: "1"}
	causes, hurried := make(chan error, 2), make(chan struct{})
	p := New(func(ctx context.Context, a *Archiver) {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		if errors.Is(context.Cause(ctx), archiver.ErrRecovery) {
			<-a.hurried
			close(hurried)
		}
	}, nil)
	p.Set(key, &Spec{})
	p.Set(key, &Spec{recovery: "of Monday"})
	if cause := <-causes; !errors.Is(cause, archiver.ErrRecovery) {
		t.Errorf("the archiver is stopped with %v, so it does not wait for the store", cause)
	}
	select {
	case <-hurried:
		t.Error("the archiver was told to end")
	case <-time.After(100 * time.Millisecond):
	}
	p.Set(key, nil)
	<-hurried
}

func TestAnArchiverOfOtherEndpointsStartsAgain(t *testing.T) {
	of := func(urls ...string) Spec {
		s := statetest.ArchivingState(t)
		s.Spec.EtcdCluster, s.Spec.EtcdEndpoints = nil, urls
		return *SpecOf(s)
	}
	if !sameArchive(of("http://a:2379"), of("http://a:2379")) {
		t.Error("the archiver starts again, although nothing has changed")
	}
	if sameArchive(of("http://a:2379"), of("http://b:2379")) {
		t.Error("the archiver continues with the members that the spec does not name any more")
	}
	managed := func(urls ...string) Spec {
		s := statetest.ArchivingState(t)
		s.Spec.EtcdEndpoints, s.Spec.EtcdCluster, s.Cluster = nil, &v1beta2.ClusterReference{Name: "x"}, &state.Cluster{Name: "x", ClientURLs: urls}
		return *SpecOf(s)
	}
	if !sameArchive(managed("http://a:2379"), managed("http://a:2379", "http://b:2379")) {
		t.Error("the archiver starts again for each member that is replaced")
	}
}

// A recovery from a lost quorum keeps the cluster ID. An archiver that continued could mix two histories.
func TestAnArchiverStartsAgainAfterEachRecovery(t *testing.T) {
	after := func(r *v1beta2.ClusterRecoveryStatus) *Spec {
		s := statetest.ArchivingState(t)
		s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "x"}
		s.Cluster = state.ClusterOf(&v1beta2.EtcdCluster{Status: v1beta2.EtcdClusterStatus{
			Recovery: r, MemberStatuses: []v1beta2.MemberStatus{{ClientURL: "http://a:2379"}},
		}})
		return SpecOf(s)
	}
	first, second := metav1.NewTime(statetest.T0), metav1.NewTime(statetest.T0.Add(time.Hour))
	if after(&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "m", StartedAt: &first}) != nil {
		t.Error("an archiver runs although no survivor serves yet")
	}
	growing := after(&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: "m", StartedAt: &first})
	complete := after(&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryComplete, Member: "m", StartedAt: &first})
	if sameArchive(*after(nil), *growing) || sameArchive(*complete, *after(&v1beta2.ClusterRecoveryStatus{Member: "m", StartedAt: &second})) {
		t.Error("the archiver continues although the cluster was recovered")
	}
	if !sameArchive(*growing, *complete) {
		t.Error("the archiver starts again for each step of one recovery")
	}
}

// A drained archiver stores changes of the lost history, which exist nowhere else. The next archiver reports them.
func TestWhatADrainedArchiverHasStoredIsReported(t *testing.T) {
	key := worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: "b"}, UID: "1"}
	stored := make(chan struct{})
	p := New(func(ctx context.Context, a *Archiver) {
		<-ctx.Done()
		if errors.Is(context.Cause(ctx), archiver.ErrRecovery) {
			<-stored
		}
	}, nil)
	told := make(chan struct{}, 10)
	p.notify = func(worker.Key) { told <- struct{}{} }
	p.Set(key, &Spec{})
	p.Drain(key)
	p.Set(key, &Spec{recovery: "of Monday"})
	next := p.known[key]
	if len(next.news) > 0 {
		t.Error("the archive is surveyed although nothing was stored")
	}
	close(stored)
	<-told
	if len(next.news) != 1 {
		t.Error("the status does not list what the drained archiver has stored")
	}
	p.Set(key, nil)
}
