package archiving

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// The EtcdBackup was created again from Git, with switchover: true. Its status said Promoted, and the fence of the source was never set again.
func TestTheFenceIsSetAgainAfterAPromotionWhoseStatusWasLost(t *testing.T) {
	m, o := handedOver(t)
	m.status = "" // the EtcdBackup was created again with switchover: true
	m.restart(o)
	m.operate(m.leader)
	spec := o.spec
	v, err := o.process.step(t.Context(), spec)
	t.Logf("%+v %v fences %v", v, err, m.alarms)
	if v.Promoted == "" || v.ID != string(m.status) {
		t.Fatal("not promoted")
	}
	// what SpecOf makes of the status Promoted
	spec.promoted = &switchover.Decision{ID: m.status, Promoted: v.Promoted, Holder: v.Promoted, Revision: v.Revision}
	clear(m.alarms) // a person disarms, or a recovery loses it
	for _, asked := range []bool{true, false, true} {
		spec.handsOver = asked
		for range 3 {
			v, err = o.process.step(t.Context(), spec)
		}
		t.Logf("asked %t: %+v %v fences %v", asked, v, err, m.alarms)
		if len(m.alarms) == 0 {
			t.Errorf("asked %t: the source takes writes beside the new cluster, and the status is %s", asked, v.Phase)
		}
	}
}

// A user wrote into his own bucket that the cluster of another namespace was handed over, and the next look stopped its writes.
func TestObjectsInAStoreFenceNoClusterOfAnotherNamespace(t *testing.T) {
	m := newModel(t, 1, planted{})
	m.calm = true
	root := m.job.ArchiveRoot()
	id := switchover.NewID(m.now, "mallory", m.job.ArchiveName())
	if err := switchover.PutEnd(t.Context(), m.store, root, switchover.End{ID: id, Timeline: 1, Revision: 5, ClusterID: modelCluster.String()}); err != nil {
		t.Fatal(err)
	}
	if _, err := switchover.Decide(t.Context(), m.store, root, switchover.Decision{ID: id, Promoted: "x/y", Holder: "x", Revision: 5}); err != nil {
		t.Fatal(err)
	}
	o := m.operators[m.leader]
	o.process.permits = func(context.Context, state.JobSpec, string, bool) error { return errors.New("another namespace") }
	err := o.process.sweep(t.Context(), Spec{job: m.job})
	if len(m.alarms) > 0 {
		t.Errorf("sweep: the cluster of another namespace is fenced: %v, %v", m.alarms, err)
	}
	clear(m.alarms)
	v, err := o.process.step(t.Context(), Spec{job: m.job, switchover: id, handsOver: true})
	if len(m.alarms) > 0 {
		t.Errorf("keep: the cluster of another namespace is fenced: %v, %+v, %v", m.alarms, v, err)
	}
}

// The password of root was changed after the writes were stopped, because it had leaked. The operator could not ask for users any more, and the standby took over with the old password.
func TestAnEndIsCalledOffWhenEtcdRefusesTheUser(t *testing.T) {
	m := newModel(t, 1, planted{})
	m.calm, m.asked = true, true
	for range 3 {
		m.operate(m.leader)
	}
	o := m.operators[m.leader]
	m.users++
	o.process.users = func(context.Context, uint64) (auth.State, error) {
		return auth.State{}, fmt.Errorf("read: %w", archiver.ErrRefused)
	}
	for range 5 {
		v, err := o.process.step(t.Context(), o.spec)
		t.Logf("%+v %v", v, err)
	}
	m.standbys[0].planned = true
	m.standbys[0].users = 1
	if m.stand(m.standbys[0]); m.served != "" {
		t.Errorf("%s became the cluster with the users %d, the source has %d", m.served, m.standbys[0].users, m.users)
	}
}

// The user of the EtcdBackup is the name in its certificate. In etcd 3.5, a client without a user can add users behind the fence.
func TestEtcd35WithAuthenticationByCertificateIsNotFenced(t *testing.T) {
	m := newModel(t, 1, planted{})
	m.calm, m.asked = true, true
	o := m.operators[m.leader]
	o.process.member = func(ctx context.Context, _ state.JobSpec, do func(fences, etcd.Status) error) error {
		s := m.etcdStatus()
		s.Version = "3.5.35"
		return do(modelEtcd{m}, s)
	}
	m.job.TLSSecret = "root-certificate"
	m.operate(m.leader)
	v, err := o.process.step(t.Context(), o.spec)
	if len(m.alarms) > 0 {
		t.Errorf("fenced with authentication on: %v %+v %v", m.alarms, v, err)
	}
}

// The writes stop and begin again, and the status does not say why.
func TestASwitchoverThatIsCalledOffByItselfSaysWhy(t *testing.T) {
	m := newModel(t, 1, planted{})
	m.calm, m.asked = true, true
	for range 3 {
		m.operate(m.leader)
	}
	o := m.operators[m.leader]
	m.users++
	for range 3 {
		v, err := o.process.step(t.Context(), o.spec)
		t.Logf("%+v %v", v, err)
		if v.Waits != "" || err != nil {
			return
		}
	}
	t.Error("no reason anywhere")
}
