package killer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// roleFor is a role that may read and write the keys with a prefix.
func roleFor(name, prefix string) v1beta2.AuthRole {
	return v1beta2.AuthRole{Name: name, Permissions: []v1beta2.AuthPermission{{Prefix: ptr.To(prefix), Access: v1beta2.AccessReadWrite}}}
}

// An application reached the keys of another one, or its clients were refused, although the spec has a user for it.
func TestAClientMayDoWhatItsUserInTheSpecMay(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	b := newBench(t, v1beta2.EtcdClusterSpec{
		Size: 1, Version: older, TLS: &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{CAOverlap: lasting(0)}},
		Auth: &v1beta2.AuthPolicy{
			Enabled: ptr.To(true), Roles: []v1beta2.AuthRole{roleFor("shop", "/shop/")},
			Users: []v1beta2.AuthUser{{Name: "client", Roles: []string{"shop"}}, {Name: "web", Roles: []string{"shop"}, Certificate: &v1beta2.AuthCertificate{}}},
		},
	})
	kubetest.Create(b, b.cluster, store.secret(b.cluster.Namespace))
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	b.limitedTo("/shop/")
	store.put(t, "shop.db", b.saveAsOperator())
	if binding := b.cluster.Status.Binding; binding == nil || binding.Name != "example-web-tls" {
		t.Errorf("the status names the binding %+v", binding)
	}
	b.step("other keys after a change of the role", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Auth.Roles[0] = roleFor("shop", "/store/") })
		b.operate(&killer.Count{}, "change the role", b.isReady)
		b.limitedTo("/store/")
	})
	b.step("after more members", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 3 })
		b.operate(&killer.Count{}, "grow", b.isReady)
		b.limitedTo("/store/")
	})
	b.step("after new minor versions", func(b *bench) {
		for _, version := range []string{newer, "3.7.3"} {
			b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Version = version })
			b.operate(&killer.Count{}, "upgrade", b.isReady)
			b.limitedTo("/store/")
		}
	})
	b.step("after a restore of a snapshot in which the role had other keys", func(b *bench) {
		r := store.restore(b.cluster, "back", "shop.db")
		kubetest.Create(b, r)
		restorer := b.restoreOperator(&killer.Count{})
		defer restorer.stop()
		b.operate(&killer.Count{}, "restore", func() error {
			restorer.restart()
			return errors.Join(b.is(r, v1beta2.ConditionComplete), b.isReady())
		})
		b.limitedTo("/store/")
		if was := b.cluster.Status.Auth.AfterRestore; was == nil || fmt.Sprint(was.Changed) != "[role shop]" || len(was.Added)+len(was.Removed) > 0 {
			b.Errorf("the status says that the restore had brought back %+v", was)
		}
	})
	b.step("while the CA is replaced", func(b *bench) {
		first := string(b.secret("-ca")["ca.crt"])
		kubetest.MustKubectl(b, "", "annotate", "etcdcluster/"+b.cluster.Name, "-n", b.cluster.Namespace, v1beta2.AnnotationRotateCA+"=now")
		b.operate(&killer.Count{}, "replace the CA", func() error {
			for _, refused := range []string{"permission denied", "tls: ", "x509: "} {
				if out, err := b.etcdctlWith("-web-tls", "--command-timeout=2s", "get", "/store/a"); err != nil && strings.Contains(out, refused) {
					b.Errorf("the client is refused: %v: %s", err, out)
				}
			}
			return errors.Join(b.caReplaced(first), b.isReady())
		})
		b.limitedTo("/store/")
	})
	b.step("1,000 users and 100 roles", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) {
			for i := range 100 {
				spec.Auth.Roles = append(spec.Auth.Roles, roleFor(fmt.Sprintf("role-%d", i), fmt.Sprintf("/%d/", i)))
			}
			for i := range 1000 {
				spec.Auth.Users = append(spec.Auth.Users, v1beta2.AuthUser{Name: fmt.Sprintf("user-%d", i), Roles: []string{fmt.Sprintf("role-%d", i%100)}})
			}
		})
		begin := time.Now()
		b.operate(&killer.Count{}, "make all users", b.isReady)
		took := time.Since(begin)
		b.Logf("1,000 users and 100 roles took %s", took)
		if took > time.Minute {
			b.Errorf("1,000 users and 100 roles took %s", took)
		}
		if auth := b.cluster.Status.Auth; len(auth.Users) != 1002 || len(auth.Roles) != 101 {
			b.Errorf("the status has %d users and %d roles", len(auth.Users), len(auth.Roles))
		}
	})
	b.step("users that left the spec are removed, and those of a person are kept", func(b *bench) {
		if out, err := b.etcdctlWith(v1beta2.OperatorSecretSuffix, "user", "add", "person", "--no-password"); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		b.change(func(spec *v1beta2.EtcdClusterSpec) {
			spec.Auth.Users, spec.Auth.Roles = spec.Auth.Users[:2], spec.Auth.Roles[:1]
		})
		b.operate(&killer.Count{}, "remove them", b.isReady)
		out, err := b.etcdctlWith(v1beta2.OperatorSecretSuffix, "user", "list")
		if users := strings.Fields(out); err != nil || fmt.Sprint(users) != "[client person root web]" {
			b.Errorf("etcd has the users %v, error %v", users, err)
		}
	})
	b.step("turned off", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Auth.Enabled = ptr.To(false) })
		b.operate(&killer.Count{}, "turn authentication off", b.isReady)
		if out, err := b.etcdctlWith(v1beta2.ClientSecretSuffix, "get", "/other/"); err != nil {
			b.Errorf("the client is refused: %v: %s", err, out)
		}
	})
}

// limitedTo checks that the applications' certificate reads, writes and watches the keys with a prefix, and no others.
func (b *bench) limitedTo(prefix string) {
	b.Helper()
	if out, err := b.etcdctlWith("-web-tls", "put", prefix+"b", "1"); err != nil {
		b.Errorf("a user with a certificate may not write %s: %v: %s", prefix, err, out)
	}
	if out, err := b.etcdctlWith("-web-tls", "put", "/other/b", "1"); err == nil || !strings.Contains(out, "permission denied") {
		b.Errorf("a user with a certificate may write other keys: %v: %s", err, out)
	}
	if out, err := b.etcdctlWith(v1beta2.ClientSecretSuffix, "put", prefix+"a", "1"); err != nil {
		b.Errorf("the client may not write %s: %v: %s", prefix, err, out)
	}
	if out, err := b.etcdctlWith(v1beta2.ClientSecretSuffix, "get", "--prefix", prefix); err != nil {
		b.Errorf("the client may not read %s: %v: %s", prefix, err, out)
	}
	for _, args := range [][]string{
		{"put", "/other/a", "1"}, {"get", "/other/a"}, {"get", "--prefix", "/"}, {"get", "--prefix", ""}, {"del", "--prefix", "/other/"}, {"watch", "--prefix", "/other/"},
		{"user", "list"}, {"role", "add", "mine"}, {"auth", "disable"}, {"compaction", "1"}, {"defrag"}, {"member", "add", "x", "--peer-urls=http://x:2380"}, {"move-leader", "1"}, {"snapshot", "save", b.TempDir() + "/s"},
	} {
		if out, err := b.etcdctlWith(v1beta2.ClientSecretSuffix, append([]string{"--command-timeout=5s"}, args...)...); err == nil && !strings.Contains(out, "permission denied") {
			b.Errorf("the client of %s may do %v:\n%s", prefix, args, out)
		}
	}
}

// A restore brought the users and passwords of the snapshot back, and they stayed. And whenever the operator ended while it changed users, they
// differed from the spec.
func TestUsersWithPasswordsAreThoseOfTheSpecAlsoAfterARestore(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	b := newBench(t, v1beta2.EtcdClusterSpec{
		Size: 1, Version: newer, Auth: &v1beta2.AuthPolicy{
			OperatorSecret: "user", Enabled: ptr.To(true), Roles: []v1beta2.AuthRole{roleFor("shop", "/shop/")},
			Users: []v1beta2.AuthUser{{Name: "job", Roles: []string{"shop"}, PasswordSecret: "job"}, {Name: "old", Roles: []string{"shop"}, PasswordSecret: "job"}},
		},
	})
	kubetest.Create(b, b.user("first"), b.passwordOf("job", "one"), b.cluster, store.secret(b.cluster.Namespace))
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	b.etcdctl("job:one", "", "put", "/shop/a", "kept")
	store.put(t, "users.db", b.saveAs("root:first"))

	b.step("a new password, and one user less, with the operator killed at each call", func(b *bench) {
		if err := b.client.Update(b.Context(), b.passwordOf("job", "two")); err != nil {
			b.Fatal(err)
		}
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Auth.Users = spec.Auth.Users[:1] })
		var chain killer.Chain
		b.operate(&chain, "change users", func() error { return errors.Join(b.isReady(), b.hasUsers("job")) })
		if chain.Effects() < 3 {
			b.Errorf("%d calls of the operator had an effect, expected the announcement, the password and the removal", chain.Effects())
		}
		b.etcdctl("job:two", "", "put", "/shop/a", "changed")
	})
	b.step("a restore of the old users", func(b *bench) {
		r := store.restore(b.cluster, "back", "users.db")
		kubetest.Create(b, r)
		restorer := b.restoreOperator(&killer.Count{})
		defer restorer.stop()
		b.operate(&killer.Count{}, "restore", func() error {
			restorer.restart()
			return errors.Join(b.is(r, v1beta2.ConditionComplete), b.isReady(), b.hasUsers("job"))
		})
	})
	if value := b.etcdctl("job:two", "", "get", "--print-value-only", "/shop/a"); value != "kept\n" {
		t.Errorf("after the restore the key has the value %q", value)
	}
}

// passwordOf is a Secret with the password of a user.
func (b *bench) passwordOf(name, password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.cluster.Namespace, Name: name}, StringData: map[string]string{v1beta2.AuthPasswordKey: password},
	}
}

// hasUsers returns no error if the status has these users, with the current passwords, in the current incarnation.
func (b *bench) hasUsers(names ...string) error {
	auth := b.cluster.Status.Auth
	if auth == nil || auth.Incarnation != b.cluster.Status.Incarnation {
		return fmt.Errorf("the users are not settled: %+v", auth)
	}
	var have []string
	for _, u := range auth.Users {
		var secret corev1.Secret
		if err := b.client.Get(b.Context(), client.ObjectKey{Namespace: b.cluster.Namespace, Name: u.Name}, &secret); err != nil {
			return err
		}
		if !strings.HasSuffix(u.Version, "/"+secret.ResourceVersion) {
			return fmt.Errorf("user %s has version %s, the Secret %s", u.Name, u.Version, secret.ResourceVersion)
		}
		have = append(have, u.Name)
	}
	if fmt.Sprint(have) != fmt.Sprint(names) {
		return fmt.Errorf("the users are %v", have)
	}
	return nil
}
