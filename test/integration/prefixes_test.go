package integration

import (
	"fmt"
	"strings"
	"testing"

	"filippo.io/age"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// running reports a real etcd as the members of the EtcdCluster, as cluster-operator would.
func (b *restoreBench) running(cluster *v1beta2.EtcdCluster, etcd *servers.EtcdCluster, id uint64) {
	b.Helper()
	cluster.Status.ClusterID = fmt.Sprintf("%016x", id)
	for _, m := range etcd.Members {
		cluster.Status.MemberStatuses = append(cluster.Status.MemberStatuses, v1beta2.MemberStatus{Name: m.Name, ClientURL: m.ClientURL})
	}
	if err := kubetest.Client(b).Status().Update(b.Context(), cluster); err != nil {
		b.Fatal(err)
	}
}

// idOf returns the ID of a cluster without authentication.
func idOf(t *testing.T, etcd *servers.EtcdCluster) (id uint64) {
	t.Helper()
	_, number, _ := strings.Cut(etcdctl(t, "3.6", etcd, "member", "list", "--write-out=fields"), "\"ClusterID\" : ")
	if _, err := fmt.Sscan(number, &id); err != nil {
		t.Fatalf("the ID of the cluster: %v", err)
	}
	return id
}

// A team has deleted the keys of its application in a cluster that others share. Only these keys come back: the members, the keys of others, and
// what was written since are as they were.
func TestKeysBelowAPrefixAreRestoredIntoARunningCluster(t *testing.T) {
	etcd := servers.Etcd(t, servers.EtcdOptions{Minor: "3.6"})
	put := func(key, value string) { etcd.Members[0].Put(t, key, value) }
	keys := func(prefix string) string { return etcdctl(t, "3.6", etcd, "get", "--prefix", prefix) }
	large := strings.Repeat("x", 1<<20)
	for i := range 40 { // more than one page of 16 MiB
		put(fmt.Sprintf("/large/%02d", i), large)
	}
	for i := range 300 {
		put(fmt.Sprintf("/app/%03d", i), fmt.Sprint(i))
	}
	put("/other/a", "1")
	lease := strings.Fields(etcdctl(t, "3.6", etcd, "lease", "grant", "3600"))[1]
	etcdctl(t, "3.6", etcd, "put", "/app/lock", "held", "--lease="+lease)
	before, content := keys("/app/0"), saveByEtcdctl(t, "3.6", etcd)

	etcdctl(t, "3.6", etcd, "del", "--prefix", "/app/0")
	put("/app/100", "changed")
	put("/app/new", "created since")
	put("/other/a", "2")
	etcdctl(t, "3.6", etcd, "del", "--prefix", "/large/3")

	b := newRestoreBench(t)
	b.running(b.cluster("example", "3.6.16"), etcd, idOf(t, etcd))
	path := b.put("shared.db", content)
	t.Run("a dry run counts and names them, and writes nothing", func(t *testing.T) {
		b, was := b.in(t), keys("/")
		r := b.restore("dry", path)
		r.Spec.Prefixes, r.Spec.Prune, r.Spec.DryRun = []string{"/app/", "/large/"}, true, true
		kubetest.Create(t, r)
		b.await(r, v1beta2.ReasonDryRun)
		got := r.Status.Prefixes
		if got == nil || got.Created != 110 || got.Changed != 1 || got.Deleted != 1 || got.Unchanged != 229 || got.Leased != 1 || got.Conflicts != 0 {
			t.Fatalf("%+v\n%s", got, kubetest.YAML(r))
		}
		if first := strings.Join(got.First, "; "); !strings.Contains(first, `create "/app/000"`) || !strings.Contains(first, `change "/app/100"`) || !strings.Contains(first, `delete "/app/new"`) {
			t.Errorf("it names %s", first)
		}
		if r.Status.Source != nil || keys("/") != was {
			t.Error("a dry run has changed the cluster")
		}
	})
	t.Run("keys that were created since are kept", func(t *testing.T) {
		b := b.in(t)
		r := b.restore("app", path)
		r.Spec.Prefixes = []string{"/app/", "/large/"}
		kubetest.Create(t, r)
		b.await(r, v1beta2.ReasonComplete)
		if keys("/app/0") != before || keys("/app/100") != "/app/100\n100\n" || keys("/app/new") != "/app/new\ncreated since\n" || keys("/other/") != "/other/a\n2\n" {
			t.Errorf("the keys are\n%s%s", keys("/app/"), keys("/other/"))
		}
		if n := strings.Count(keys("/large/"), large); n != 40 {
			t.Errorf("%d of 40 large keys", n)
		}
		if s := r.Status; !s.Succeeded || s.Source != nil || s.Prefixes.Kept != 1 || s.SafetySnapshot == nil || s.SafetySnapshot.Result != v1beta2.SafetySnapshotTaken {
			t.Errorf("the status is\n%s", kubetest.YAML(r))
		}
		if !meta.IsStatusConditionTrue(r.Status.Conditions, v1beta2.ConditionComplete) {
			t.Error("it is not Complete")
		}
		b.restorable(r.Status.SafetySnapshot.Path)
	})
	t.Run("keys that were created since are deleted if that is asked", func(t *testing.T) {
		b := b.in(t)
		r := b.restore("prune", path)
		r.Spec.Prefixes, r.Spec.Prune, r.Spec.SafetySnapshot = []string{"/app/"}, true, v1beta2.SafetySnapshotSkip
		kubetest.Create(t, r)
		b.await(r, v1beta2.ReasonComplete)
		if keys("/app/new") != "" || keys("/app/lock") != "/app/lock\nheld\n" || r.Status.SafetySnapshot != nil {
			t.Errorf("the keys are\n%s\n%s", keys("/app/"), kubetest.YAML(r))
		}
	})
}

// The keys of a second of yesterday, from an encrypted archive, into a cluster with users: the operator has nothing but its own user.
func TestKeysOfAPointAreRestoredIntoAClusterWithUsers(t *testing.T) {
	t.Parallel()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	p := newPointBenchOf(t, pointOptions{etcd: servers.EtcdOptions{Minor: "3.6"}, users: true, identity: identity})
	revision := p.write("shop", 40)
	if _, err := p.kv.Delete(t.Context(), "shop/1", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	p.write("after", 5)
	cluster := p.restores.cluster("restored", "3.6.16")
	cluster.Status.OperatorAuthSecret = "user"
	p.restores.running(cluster, p.etcd, p.hash(revision).Header.ClusterId)

	r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "shop"}, Spec: v1beta2.EtcdRestoreSpec{
		EtcdCluster: v1beta2.ClusterReference{Name: "restored"}, EtcdBackup: &v1beta2.BackupReference{Name: "pit"},
		Select: &v1beta2.SnapshotSelector{Revision: revision}, Prefixes: []string{"shop/"},
	}}
	kubetest.Create(t, r)
	p.restores.await(r, v1beta2.ReasonComplete)
	for folder, want := range map[string]int64{"shop/": 40, "after/": 5, "before/": 30} {
		answer, err := p.kv.Get(t.Context(), folder, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil || answer.Count != want {
			t.Errorf("%s has %d keys, want %d: %v", folder, answer.Count, want, err)
		}
	}
	if s := r.Status; s.Prefixes.Created != 11 || s.PointInTime == nil || s.PointInTime.Revision != revision || s.Source != nil || s.SafetySnapshot == nil || s.SafetySnapshot.Result != v1beta2.SafetySnapshotTaken {
		t.Errorf("the status is\n%s", kubetest.YAML(r))
	}
}

func (b *restoreBench) in(t *testing.T) *restoreBench {
	c := *b
	c.T = t
	return &c
}

// restorable checks that the safety snapshot has the value that the restore has overwritten.
func (b *restoreBench) restorable(path string) {
	b.Helper()
	r := b.restore("back", path)
	r.Spec.Prefixes, r.Spec.DryRun = []string{"/app/100"}, true
	kubetest.Create(b, r)
	b.await(r, v1beta2.ReasonDryRun)
	if r.Status.Prefixes.Changed != 1 {
		b.Errorf("the safety snapshot does not have the earlier value:\n%s", kubetest.YAML(r))
	}
}
