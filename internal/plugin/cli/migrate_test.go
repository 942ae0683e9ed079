package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// fromEndpoints is a migration of an etcd that nothing reaches.
const fromEndpoints = "migrate moved --from-endpoints http://127.0.0.1:1 --storage S3 --path etcd-backups/old --secret s3"

func storeSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s3"}}
}

// objects returns those of the migration; nil for each that does not exist.
func (k *kit) objects(t *testing.T) (b *v1beta2.EtcdBackup, r *v1beta2.EtcdRestore, c *v1beta2.EtcdCluster) {
	t.Helper()
	b, r, c = &v1beta2.EtcdBackup{}, &v1beta2.EtcdRestore{}, &v1beta2.EtcdCluster{}
	if k.Known.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "moved-move"}, b) != nil {
		b = nil
	}
	if k.Known.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "moved-move"}, r) != nil {
		r = nil
	}
	if k.Known.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "moved"}, c) != nil {
		c = nil
	}
	return b, r, c
}

// operators stand in for all three until the test ends. They follow and hand over at once, but take over only if takeOver is true.
func (k *kit) operators(t *testing.T, takeOver bool) {
	t.Helper()
	is := func(kind, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(now)}
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	pass := func() {
		b, r, c := k.objects(t)
		if b == nil || b.Spec.Continuous == nil {
			return
		}
		b.Status.Conditions = []metav1.Condition{is("Ready", "Scheduled"), is("Archiving", "Archiving")}
		switch asked := b.Spec.Continuous.Switchover; {
		case !asked:
			b.Status.Switchover = nil
		case takeOver:
			b.Status.Switchover = &v1beta2.SwitchoverStatus{ID: "a", Phase: v1beta2.SwitchoverPromoted, Revision: 500, Promoted: "ns/moved-move"}
		default:
			b.Status.Switchover = &v1beta2.SwitchoverStatus{ID: "a", Phase: v1beta2.SwitchoverFencing, Message: "It waits."}
		}
		_ = k.Known.Status().Update(ctx, b)
		if r == nil || c == nil {
			return
		}
		r.Status.Conditions = []metav1.Condition{is("Following", "Following")}
		r.Status.Follow = &v1beta2.RestoreFollowStatus{Cluster: "ns/moved-move", FollowStatus: v1beta2.FollowStatus{Revision: 480, LagSeconds: new(int64(0))}}
		if on := b.Status.Switchover; on != nil && on.Phase == v1beta2.SwitchoverPromoted {
			r.Status.Follow.Promoted = &v1beta2.PromotedStatus{Revision: 500, Planned: true}
			r.Status.Conditions = []metav1.Condition{is("Complete", "Complete")}
			c.Status.ClusterID, c.Status.Conditions = "0123456789abcdef", []metav1.Condition{is("Available", "Ready")}
			_ = k.Known.Status().Update(ctx, c)
		}
		_ = k.Known.Status().Update(ctx, r)
	}
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				pass()
			}
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}

// A user reads and edits the manifests before anything runs.
func TestMigratePrintsItsManifestsAndCreatesNothing(t *testing.T) {
	k := kitOf(t)
	screen(t, "migrate-dry-run", k.must(t, append(strings.Fields(fromEndpoints), "--dry-run", "--client-auth-secret", "root")...))
	if b, r, c := k.objects(t); b != nil || r != nil || c != nil {
		t.Error("an object was created")
	}
}

// The EtcdBackup of the manifests does not exist yet, so its status has no version. With an older version, a cluster that a user has created from the
// manifests could not read the data.
func TestTheManifestsOfAMigrationHaveAVersionThatReadsTheData(t *testing.T) {
	newer := example()
	newer.Status.CurrentVersion = "3.7.3"
	k := kitOf(t, newer, storeSecret())
	shown := k.must(t, strings.Fields("migrate moved --from-cluster example --storage S3 --path etcd-backups/old --secret s3 --dry-run")...)
	if !strings.Contains(shown, "  version: 3.7.3\n") {
		t.Errorf("the source runs etcd 3.7.3, and the manifests are:\n%s", shown)
	}
}

// Each of these ends with a cluster that stays empty, or with an archive that no standby can follow. None may leave an object behind.
func TestMigrateRefusesWhatCannotSucceedBeforeItCreatesAnything(t *testing.T) {
	old := example()
	old.Status.CurrentVersion = "3.4.33"
	taken := example()
	taken.Name = "moved"
	authenticated := example()
	authenticated.Spec.TLS, authenticated.Spec.Auth = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}, &v1beta2.AuthPolicy{Enabled: ptr.To(true)}
	for name, c := range map[string]struct {
		objects []client.Object
		args    string
		want    string
	}{
		"etcd 3.4":             {[]client.Object{old, storeSecret()}, "migrate moved --from-cluster example --storage S3 --path etcd-backups/old --secret s3", "kubectl etcd import moved old.db"},
		"a name that is taken": {[]client.Object{taken, storeSecret()}, fromEndpoints, "choose another name"},
		"no Secret":            {nil, fromEndpoints, "Secret s3 does not exist in namespace ns"},
		"no source":            {nil, "migrate moved", "--from-endpoints"},
		"no store":             {nil, "migrate moved --from-endpoints http://127.0.0.1:1", "--storage"},
		"no archive":           {[]client.Object{example(), hourly()}, "migrate moved --from-cluster example", "has 0 EtcdBackups with a continuous archive"},
		"no continuous":        {[]client.Object{example(), hourly()}, "migrate moved --backup hourly", "has no continuous archive"},
		"users without TLS":    {[]client.Object{authenticated, storeSecret()}, "migrate moved --from-cluster example --storage S3 --path etcd-backups/old --secret s3 --no-tls", "etcd would refuse them"},
		"no answer":            {[]client.Object{storeSecret()}, fromEndpoints, "Clients of the source notice nothing"},
	} {
		k := kitOf(t, c.objects...)
		args := strings.Fields(c.args)
		if name != "no answer" {
			args = append(args, "--yes")
		}
		_, err := k.run(t, args...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if b, r, _ := k.objects(t); b != nil || r != nil {
			t.Errorf("%s: an object was created", name)
		}
	}
}

// Who may write the old EtcdCluster chooses the names of Secrets. The password of another application in the new namespace became that of a user of etcd, and users with the
// password of the old namespace were refused after the move. The question named none of the Secrets.
func TestAMoveReadsOnlySecretsWithThePasswordsOfTheSource(t *testing.T) {
	source := example()
	source.Namespace, source.Spec.Auth = "old", &v1beta2.AuthPolicy{OperatorSecret: "root", Users: []v1beta2.AuthUser{{Name: "web", PasswordSecret: "web"}}}
	secret := func(namespace, name, user, password string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"username": []byte(user), "password": []byte(password)}}
	}
	for name, c := range map[string]struct {
		root, web *corev1.Secret
		want      string
	}{
		"the password of something else": {secret("ns", "root", "root", "1"), secret("ns", "web", "", "theirs"), "Secret web has another user or password in namespace ns than in namespace old"},
		"another user of the operators":  {secret("ns", "root", "admin", "1"), secret("ns", "web", "", "2"), "Secret root has another user or password"},
		"the same ones":                  {secret("ns", "root", "root", "1"), secret("ns", "web", "", "2\n"), "read from the Secrets root, web there"},
	} {
		ofOld := storeSecret()
		ofOld.Namespace = "old"
		k := kitOf(t, source, storeSecret(), ofOld, secret("old", "root", "root", "1"), secret("old", "web", "", "2"), c.root, c.web)
		_, err := k.run(t, strings.Fields("migrate moved --from-cluster old/example --storage S3 --path etcd-backups/old --secret s3")...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if b, r, _ := k.objects(t); b != nil || r != nil {
			t.Errorf("%s: an object was created", name)
		}
	}
}

// A move that waits for its hand-over has copied the users of the source. One that was removed from the source before it came back with the hand-over.
func TestAMoveHandsOverWithTheUsersThatTheSourceHasThen(t *testing.T) {
	for name, edited := range map[string]bool{"the new one was not edited": false, "the new one was edited": true} {
		t.Run(name, func(t *testing.T) {
			source := example()
			source.Spec.Auth = &v1beta2.AuthPolicy{Users: []v1beta2.AuthUser{{Name: "web"}, {Name: "former"}}}
			k := kitOf(t, source, storeSecret())
			k.must(t, strings.Fields("migrate moved --from-cluster example --storage S3 --path etcd-backups/old --secret s3 --yes --wait=false")...)
			change := func(name string, users ...v1beta2.AuthUser) {
				c := &v1beta2.EtcdCluster{}
				if err := k.Known.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, c); err != nil {
					t.Fatal(err)
				}
				c.Spec.Auth.Users = users
				if err := k.Known.Update(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			change("example", v1beta2.AuthUser{Name: "web"})
			if edited {
				change("moved", v1beta2.AuthUser{Name: "web"}, v1beta2.AuthUser{Name: "former"}, v1beta2.AuthUser{Name: "new"})
			}
			k.operators(t, true)
			_, err := k.run(t, "migrate", "moved", "--yes", "--timeout=20s")
			b, _, c := k.objects(t)
			switch asked := b.Spec.Continuous.Switchover; {
			case edited && (asked || err == nil || !strings.Contains(err.Error(), "would come back")):
				t.Errorf("the source was asked: %t, error %v", asked, err)
			case !edited && (!asked || len(c.Spec.Auth.Users) != 1):
				t.Errorf("the source was asked: %t, the users are %+v, error %v", asked, c.Spec.Auth.Users, err)
			}
		})
	}
}

// A run that was interrupted is continued by the same command without a source, and creates nothing twice.
func TestMigrateContinuesWhereAnEarlierRunHasEnded(t *testing.T) {
	k := kitOf(t, storeSecret())
	out := k.must(t, append(strings.Fields(fromEndpoints), "--yes", "--wait=false")...)
	if !strings.Contains(strings.Join(strings.Fields(out), " "), "nothing has changed for clients") {
		t.Error(out)
	}
	before, _, _ := k.objects(t)
	if before == nil || before.Spec.Continuous.Switchover {
		t.Fatalf("%+v", before)
	}
	k.operators(t, true)
	if _, err := k.run(t, "migrate", "moved"); err == nil || !strings.Contains(err.Error(), "refuses all writes from now on") || !strings.Contains(err.Error(), "follows it") {
		t.Errorf("without yes: %v", err)
	}
	if b, _, _ := k.objects(t); b.Spec.Continuous.Switchover {
		t.Fatal("the source was stopped without a question")
	}
	out, err := k.run(t, "migrate", "moved", "--yes")
	if err == nil || !strings.Contains(err.Error(), "both statuses name revision 500, but the keys were not compared") {
		t.Errorf("a script would delete the source now: %v", err)
	}
	out = strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"Clients now: https://moved-client.ns.svc:2379, with the certificate in Secret moved-client-tls", "There is no way back"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "is created") {
		t.Errorf("something was created twice: %s", out)
	}
	if again, _ := k.run(t, "migrate", "moved", "--yes"); !strings.Contains(again, "There is no way back") {
		t.Errorf("after the end: %s", again)
	}
}

// A standby that does not take over would leave the clients without writes until a person looks.
func TestMigrateCallsASwitchoverOffThatTakesTooLong(t *testing.T) {
	k := kitOf(t, storeSecret())
	k.operators(t, false)
	_, err := k.run(t, append(strings.Fields(fromEndpoints), "--yes", "--max-outage=2s")...)
	if err == nil || !strings.Contains(err.Error(), "the source takes writes again") || !strings.Contains(err.Error(), "It waits") {
		t.Fatalf("%v", err)
	}
	if b, _, _ := k.objects(t); b.Spec.Continuous.Switchover {
		t.Error("the source still refuses writes")
	}
}
