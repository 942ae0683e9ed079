package archiving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// handedOver is a model in which a standby became the cluster.
func handedOver(t *testing.T) (*model, *modelOperator) {
	t.Helper()
	m := newModel(t, 1, planted{})
	m.calm, m.asked = true, true
	for range 3 {
		m.operate(m.leader)
		m.stored = m.revision
		m.standbys[0].planned = true
		m.stand(m.standbys[0])
	}
	if m.served == "" || len(m.alarms) != 1 || m.wrong != "" {
		t.Fatalf("served %q, fences %v, %s\n%s", m.served, m.alarms, m.wrong, strings.Join(m.log, "\n"))
	}
	return m, m.operators[m.leader]
}

// A recovery from a lost quorum continued with a member that had not applied the fence, or a person has disarmed it. Then the source took writes beside the new cluster.
func TestTheFenceIsSetAgainAfterAPromotion(t *testing.T) {
	m, _ := handedOver(t)
	clear(m.alarms)
	m.operate(m.leader)
	if len(m.alarms) == 0 {
		t.Error("the source takes writes beside the standby that became the cluster")
	}
}

// The folder of the archive was moved away. The status still has that a standby was promoted.
func TestAPromotionIsFinalAlsoIfTheStoreLosesIt(t *testing.T) {
	m, o := handedOver(t)
	for _, key := range m.store.Keys() {
		if strings.Contains(key, "/switchovers/") {
			if err := m.store.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.restart(o)
	for _, asked := range []bool{true, false} {
		spec := Spec{job: m.job, switchover: m.status, handsOver: asked, promoted: &switchover.Decision{ID: m.status, Promoted: "ns/standby-0", Holder: "ns/standby-0", Revision: 5}}
		v, err := o.process.step(t.Context(), spec)
		if err != nil || v.Phase != v1beta2.SwitchoverPromoted || v.Revision != 5 || len(m.alarms) != 1 {
			t.Errorf("asked %t: %+v, %v, and the fences are %v", asked, v, err, m.alarms)
		}
	}
	m.standbys[1].planned = true
	if m.stand(m.standbys[1]); m.wrong != "" {
		t.Error(m.wrong)
	}
}

// The EtcdBackup was deleted with its snapshots, and created again. What says that the source was handed over must outlive that.
func TestAPromotionOutlivesItsEtcdBackup(t *testing.T) {
	m, o := handedOver(t)
	if err := switchover.Purge(t.Context(), m.store, m.job.ArchiveRoot(), "uid", time.Now()); err != nil {
		t.Fatal(err)
	}
	m.status, m.asked = "", false
	m.restart(o)
	m.operate(m.leader)
	if len(m.alarms) == 0 {
		t.Error("the next EtcdBackup lets the source take writes")
	}
}

// The status was lost, so it did not say that the source was handed over.
func TestALostStatusShowsAPromotionAgain(t *testing.T) {
	m, o := handedOver(t)
	m.restart(o)
	if err := o.process.sweep(t.Context(), Spec{job: m.job}); err != nil {
		t.Fatal(err)
	}
	if v := o.process.look().Switchover; v == nil || v.ID != string(m.status) || v.Phase != v1beta2.SwitchoverPromoted || v.Promoted != "ns/standby-0" || v.Revision != m.revision {
		t.Errorf("it reports %+v", v)
	}
}

// A user was removed just before the switchover. A standby gets that only from the next snapshot, so until then the source must not stop: clients would have no cluster.
func TestWritesAreNotStoppedBeforeTheArchiveHasTheUsers(t *testing.T) {
	m := newModel(t, 1, planted{})
	m.calm, m.asked, m.users = true, true, 2
	m.operate(m.leader)
	o := m.operators[m.leader]
	if v, err := o.process.step(t.Context(), o.spec); err == nil || !strings.Contains(err.Error(), "users") || len(m.alarms) > 0 {
		t.Errorf("%+v, %v, and the fences are %v", v, err, m.alarms)
	}
	m.archived = 2
	m.operate(m.leader)
	if len(m.alarms) != 1 {
		t.Errorf("with a snapshot of the users, the fences are %v", m.alarms)
	}
}

// readyToHandOver is a model in which the source has stopped, and a standby may claim its end.
func readyToHandOver(t *testing.T) (*model, *modelOperator) {
	t.Helper()
	m := newModel(t, 1, planted{})
	m.calm, m.asked = true, true
	for range 2 {
		m.operate(m.leader)
	}
	o := m.operators[m.leader]
	if v, err := o.process.step(t.Context(), o.spec); err != nil || v.Phase != v1beta2.SwitchoverReady {
		t.Fatalf("%+v, %v", v, err)
	}
	return m, o
}

// Two EtcdBackups of one cluster have two archives, so a standby of each could be promoted.
func TestTwoEtcdBackupsDoNotHandOverOneCluster(t *testing.T) {
	m := newModel(t, 1, planted{})
	m.calm, m.asked = true, true
	m.alarms[etcd.SwitchoverID(modelCluster, "S3 bucket/other", "one")] = true
	for range 3 {
		m.operate(m.leader)
	}
	v, err := m.operators[m.leader].process.step(t.Context(), m.operators[m.leader].spec)
	if err == nil || !strings.Contains(err.Error(), "another EtcdBackup") || v.Phase == v1beta2.SwitchoverReady {
		t.Errorf("the switchover is %+v, %v", v, err)
	}
	m.asked = false
	for range 3 {
		m.operate(m.leader)
	}
	if len(m.alarms) != 1 {
		t.Errorf("after one was called off, the fences are %v", m.alarms)
	}
}

// The spec names another archive since. Its standby, and one of the earlier archive, would both be promoted.
func TestASwitchoverEndsInTheArchiveInWhichItBegan(t *testing.T) {
	m := newModel(t, 1, planted{})
	m.calm, m.asked = true, true
	m.operate(m.leader)
	o := m.operators[m.leader]
	spec := o.spec
	spec.job.Target.Bucket = "other"
	before := len(m.store.Keys())
	for _, asked := range []bool{true, false} {
		spec.handsOver = asked
		v, err := o.process.step(t.Context(), spec)
		if err == nil || v.Off || len(m.alarms) != 1 || len(m.store.Keys()) != before {
			t.Errorf("asked %t: the switchover is %+v, %v, and the fences are %v", asked, v, err, m.alarms)
		}
	}
}

// The name of a source that was handed over is used again, for example by a standby of the new cluster that was promoted since. It must take writes.
func TestAnotherClusterOfTheSameNameIsNotFenced(t *testing.T) {
	m, o := handedOver(t)
	clear(m.alarms)
	m.cluster = 0xdef
	for _, asked := range []bool{true, false} {
		spec := o.spec
		spec.handsOver = asked
		v, err := o.process.step(t.Context(), spec)
		if err != nil || len(m.alarms) > 0 || v.Off == asked {
			t.Errorf("asked %t: %+v, %v, and the fences are %v", asked, v, err, m.alarms)
		}
	}
}

// Each sweep connects to the members. With 1,000 archives, one of them a minute costs a tenth of a processor.
func TestAClusterIsSweptWhenALateRequestHasArrivedAndSeldomAfterThat(t *testing.T) {
	sweeps := []int{}
	for looks := range 2 * sweepLooks {
		if sweepIsDue(looks) {
			sweeps = append(sweeps, looks)
		}
	}
	if want := []int{0, sweepSoon, sweepLooks}; !slices.Equal(sweeps, want) {
		t.Errorf("within an hour it is swept after %v looks, want %v", sweeps, want)
	}
}

// Behind the fence of an etcd 3.5, a client without a user can add one with the role root, and a full database takes deletions.
func TestOnlyAnEtcdInWhichAFenceHoldsIsFenced(t *testing.T) {
	full := []string{"memberID:1 alarm:NOSPACE "}
	for name, test := range map[string]struct {
		job     state.JobSpec
		version string
		errors  []string
		want    bool
	}{
		"etcd 3.6 with users":        {state.JobSpec{AuthSecret: "root"}, "3.6.16", nil, true},
		"etcd 3.6 that is full":      {state.JobSpec{}, "3.6.16", full, true},
		"etcd 3.5":                   {state.JobSpec{}, "3.5.35", nil, true},
		"etcd 3.5 with users":        {state.JobSpec{AuthSecret: "root"}, "3.5.35", nil, false},
		"etcd 3.5 that is full":      {state.JobSpec{}, "3.5.35", full, false},
		"etcd 3.5 in an EtcdCluster": {state.JobSpec{Cluster: "example", MayLackUser: true}, "3.5.35", nil, false},
	} {
		if err := fenceable(test.job, etcd.Status{Version: test.version, Errors: test.errors}, auth.State{}); (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The members do not answer, and a person deletes the EtcdBackup and disarms the alarm. Without a decision in the store, a standby took over after that, beside a source that took
// writes.
func TestASwitchoverIsCalledOffAlthoughTheMembersDoNotAnswer(t *testing.T) {
	id := switchover.NewID(time.Unix(1_700_000_000, 0), "uid", state.JobSpec{}.ArchiveName())
	silent, refused := errors.New("no member answers"), ofMembers(fmt.Errorf("read the revision of etcd: %w", rpctypes.ErrAuthFailed))
	for name, test := range map[string]struct {
		asked bool
		why   error
		want  bool
	}{
		"it is asked for":                          {true, silent, false},
		"it is not asked for":                      {false, silent, true},
		"it is asked for, and the user is refused": {true, refused, true},
	} {
		store := objstoretest.NewMemory()
		spec := Spec{switchover: id, handsOver: test.asked}
		root := spec.job.ArchiveRoot()
		if err := switchover.PutEnd(t.Context(), store, root, switchover.End{ID: id, Timeline: 1, Revision: 7}); err != nil {
			t.Fatal(err)
		}
		a := &Archiver{notify: func() {}}
		r := &runner{Clients: &clients.Clients{Now: time.Now, Identity: grant.Everything(), Open: func(context.Context, connect.Access) (objstore.Store, error) { return store, nil }}}
		if err := r.callOffAlone(t.Context(), a, spec, test.why); err != nil {
			t.Fatal(err)
		}
		d, decided, err := switchover.ReadDecision(t.Context(), store, root, id)
		if err != nil || decided != test.want || decided && !d.Off() {
			t.Errorf("%s: %+v, %t, %v", name, d, decided, err)
		}
		if v := a.look().Switchover; (v != nil) != test.want || v != nil && (v.Phase != v1beta2.SwitchoverCallingOff || !strings.Contains(v.Waits, test.why.Error())) {
			t.Errorf("%s: the status is to say %+v", name, v)
		}
	}
}

// named is a member with that peer URL.
type named string

func (n named) MembersKnown(context.Context) ([]etcd.Member, error) {
	return []etcd.Member{{PeerURLs: []string{string(n)}}}, nil
}

func (named) Fence(context.Context, etcd.ID) (int64, error) { panic("not permitted") }
func (named) Unfence(context.Context, etcd.ID) error        { panic("not permitted") }
func (named) Status(context.Context) (etcd.Status, error)   { panic("not asked") }

// The network lets the operator reach the members of another namespace, which its EtcdBackups do not reach by themselves.
func TestAnEtcdClusterOfAnotherNamespaceIsFencedOnlyWithItsCredentials(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	victim := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "victim", Name: "etcd"}}
	victim.Status.ClusterID = "00000000000000aa"
	open := victim.DeepCopy()
	open.Name, open.Status.ClusterID = "open", "00000000000000cc"
	restored := victim.DeepCopy()
	restored.Name, restored.Status.ClusterID, restored.Status.Restore = "restored", "00000000000000ab", &v1beta2.ClusterRestoreStatus{Step: v1beta2.RestoreSwitching, ClusterID: "00000000000000ee"}
	formed := victim.DeepCopy()
	formed.Name, formed.Status.ClusterID = "formed", ""
	standby := formed.DeepCopy()
	standby.Name, standby.Status.Restore = "standby", &v1beta2.ClusterRestoreStatus{Step: v1beta2.RestoreSeeding}
	withUsers := victim.DeepCopy()
	withUsers.Name, withUsers.Status.ClusterID, withUsers.Status.Auth = "users", "00000000000000dd", &v1beta2.AuthStatus{Enabled: true}
	victim.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
	r := &runner{Clients: &clients.Clients{Secrets: fake.NewClientBuilder().WithScheme(scheme).WithObjects(victim, open, restored, formed, standby, withUsers).Build()}}
	of := func(urls ...string) state.JobSpec {
		return state.JobSpec{Namespace: "ns", Cluster: "etcd", MayLackUser: true, URLs: urls}
	}
	for name, test := range map[string]struct {
		job  state.JobSpec
		id   string
		want bool
		// peer is what a member answers.
		peer string
	}{
		"without any":                             {state.JobSpec{Namespace: "ns"}, victim.Status.ClusterID, false, ""},
		"with its certificate":                    {state.JobSpec{Namespace: "ns", TLSSecret: "tls"}, victim.Status.ClusterID, true, ""},
		"with its user":                           {state.JobSpec{Namespace: "ns", AuthSecret: "user"}, withUsers.Status.ClusterID, true, ""},
		"with a user that etcd does not ask for":  {state.JobSpec{Namespace: "ns", AuthSecret: "user"}, victim.Status.ClusterID, false, ""},
		"with a certificate that etcd ignores":    {state.JobSpec{Namespace: "ns", TLSSecret: "tls"}, open.Status.ClusterID, false, ""},
		"by its EtcdCluster":                      {of("http://m0.etcd.ns.svc:2379"), victim.Status.ClusterID, true, ""},
		"by a DNS domain of the user":             {of("http://m0.etcd.ns.svc.evil.example:2379"), victim.Status.ClusterID, false, ""},
		"by one of several members":               {of("http://m0.etcd.ns.svc:2379", "http://m1.etcd.ns.svc.evil.example:2379"), victim.Status.ClusterID, false, ""},
		"by a status with other members":          {of("http://m0.etcd.victim.svc:2379"), victim.Status.ClusterID, false, ""},
		"another etcd by a DNS domain":            {of("http://m0.etcd.ns.svc.cluster.local:2379"), "00000000000000bb", true, ""},
		"in its own namespace":                    {state.JobSpec{Namespace: "victim"}, victim.Status.ClusterID, true, ""},
		"another etcd":                            {state.JobSpec{Namespace: "ns"}, "00000000000000bb", true, ""},
		"by the new members of a restore":         {state.JobSpec{Namespace: "ns"}, "00000000000000ee", false, ""},
		"before its status has the ID":            {state.JobSpec{Namespace: "ns"}, "00000000000000ff", false, "http://m0.formed.victim.svc.cluster.local:2380"},
		"before the status of another one has it": {state.JobSpec{Namespace: "ns"}, "00000000000000ff", true, "http://m0.other.victim.svc:2380"},
		"a source with the name of its standby":   {state.JobSpec{Namespace: "ns"}, "00000000000000ff", true, "http://m0.standby.victim.svc:2380"},
	} {
		if err := r.mayFence(t.Context(), test.job, locked{named(test.peer)}, test.id); (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
