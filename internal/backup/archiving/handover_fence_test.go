package archiving

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// The EtcdBackup was created again from Git, with switchover: true. Its status said Promoted, and the fence of the source was never set again.
func TestTheFenceIsSetAgainAfterAPromotionWhoseStatusWasLost(t *testing.T) {
	m, o := handedOver(t)
	m.status = ""
	m.restart(o)
	m.operate(m.leader)
	spec := o.spec
	v, err := o.process.step(t.Context(), spec)
	if v.Promoted == "" || v.ID != string(m.status) || err != nil {
		t.Fatalf("the switchover is %+v, %v", v, err)
	}
	spec.promoted = &switchover.Decision{ID: m.status, Promoted: v.Promoted, Holder: v.Promoted, Revision: v.Revision} // what SpecOf makes of that status
	for _, asked := range []bool{true, false} {
		clear(m.alarms) // a person disarms them, or a recovery loses them
		spec.handsOver = asked
		if v, err := o.process.step(t.Context(), spec); len(m.alarms) == 0 {
			t.Errorf("asked %t: the source takes writes beside the new cluster, and the switchover is %+v, %v", asked, v, err)
		}
	}
}

// A user wrote into his own bucket that the cluster of another namespace was handed over, and the next look stopped its writes. Or its fence had an ID like that of his
// archive, and the next look let it take writes again.
func TestObjectsInAStoreChangeNoFenceOfAnotherNamespace(t *testing.T) {
	for name, fenced := range map[string]bool{"it takes writes": false, "it takes none": true} {
		m := newModel(t, 1, planted{})
		m.calm = true
		id := switchover.NewID(m.now, "other", m.job.ArchiveName())
		end := switchover.End{ID: id, Timeline: 1, Revision: 5, ClusterID: modelCluster.String()}
		decision := switchover.Decision{ID: id, Promoted: "x/y", Holder: "x", Revision: 5}
		if fenced {
			decision = switchover.Decision{ID: id}
			m.alarms[etcd.SwitchoverID(modelCluster, m.job.ArchiveName(), "theirs")] = true
		}
		_, err := switchover.Decide(t.Context(), m.store, m.job.ArchiveRoot(), decision)
		if err = errors.Join(err, switchover.PutEnd(t.Context(), m.store, m.job.ArchiveRoot(), end)); err != nil {
			t.Fatal(err)
		}
		h := m.operators[m.leader].process
		h.permits = func(context.Context, state.JobSpec, locked, string) error { return errors.New("another namespace") }
		for at, look := range map[string]func() error{
			"without a switchover": func() error { return h.sweep(t.Context(), Spec{job: m.job}) },
			"asked for": func() error {
				_, err := h.step(t.Context(), Spec{job: m.job, switchover: id, handsOver: true})
				return err
			},
			"not asked for": func() error { _, err := h.step(t.Context(), Spec{job: m.job, switchover: id}); return err },
		} {
			if err := look(); err == nil || !strings.Contains(err.Error(), "another namespace") || len(m.alarms) > 0 != fenced {
				t.Errorf("%s, %s: the fences are %v, and the error is %v", name, at, m.alarms, err)
			}
		}
	}
}

// The user of the EtcdBackup is the name in its certificate. In etcd 3.5, a client without a user can add users behind the fence.
func TestEtcd35WithAuthenticationByCertificateIsNotFenced(t *testing.T) {
	m := newModel(t, 1, planted{})
	m.calm, m.asked = true, true
	o := m.operators[m.leader]
	o.process.member = func(_ context.Context, _ state.JobSpec, do func(locked, etcd.Status) error) error {
		s := m.etcdStatus()
		s.Version = "3.5.35"
		return do(locked{modelEtcd{m}}, s)
	}
	m.job.TLSSecret = "root-certificate"
	m.operate(m.leader)
	if v, err := o.process.step(t.Context(), o.spec); err == nil || !strings.Contains(err.Error(), "3.5.35") || len(m.alarms) > 0 {
		t.Errorf("the switchover is %+v, %v, and the fences are %v", v, err, m.alarms)
	}
}

// swapped is a member whose address leads to one of another cluster after the fence was set.
type swapped struct{ modelEtcd }

func (s swapped) Status(context.Context) (etcd.Status, error) {
	now := s.m.etcdStatus()
	now.ClusterID++
	return now, nil
}

// The name of an endpoint led to the cluster of the user first, and then to that of another namespace, which took no writes from then on.
func TestAFenceThatReachesAnotherClusterIsTakenBack(t *testing.T) {
	m := newModel(t, 1, planted{})
	m.calm, m.asked = true, true
	o := m.operators[m.leader]
	o.process.member = func(_ context.Context, _ state.JobSpec, do func(locked, etcd.Status) error) error {
		return do(locked{swapped{modelEtcd{m}}}, m.etcdStatus())
	}
	m.operate(m.leader)
	if v, err := o.process.step(t.Context(), o.spec); err == nil || !strings.Contains(err.Error(), "leads to a member of cluster") || len(m.alarms) > 0 {
		t.Errorf("the switchover is %+v, %v, and the fences are %v", v, err, m.alarms)
	}
}

// The URL of the store was written in another way after a promotion. The fence of the source was not set again from then on.
func TestTheFenceIsKeptAfterAPromotionAlthoughTheArchiveHasAnotherName(t *testing.T) {
	m, o := handedOver(t)
	spec := o.spec
	spec.promoted = &switchover.Decision{ID: m.status, Promoted: "ns/standby-0", Holder: "ns/standby-0", Revision: 5}
	spec.job.Target.Endpoint += "https://another-name"
	clear(m.alarms)
	if v, err := o.process.step(t.Context(), spec); err != nil || len(m.alarms) == 0 {
		t.Errorf("the switchover is %+v, %v, and the fences are %v", v, err, m.alarms)
	}
}
