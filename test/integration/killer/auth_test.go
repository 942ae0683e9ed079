package killer_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// TestEveryOperationWorksWithAuthenticationOn uses a user and a password, without TLS. A user who turns authentication on must
// lose nothing, and read what is missing.
func TestEveryOperationWorksWithAuthenticationOn(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 1, Version: older})
	kubetest.Create(b, b.cluster, store.secret(b.cluster.Namespace))
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	b.callAnyMember("kv/put", map[string]any{"key": []byte("key"), "value": []byte("kept")})
	b.callAnyMember("auth/user/add", map[string]any{"name": "root", "password": "first"})
	b.callAnyMember("auth/user/grant", map[string]any{"user": "root", "role": "root"})
	b.callAnyMember("auth/enable", map[string]any{})

	b.step("without a user the status reports what is missing", func(b *bench) {
		b.operate(&killer.Count{}, "report the refusal", func() error {
			return b.says(v1beta2.ReasonEtcdAccessDenied, "it has no user. The operator cannot")
		})
		b.availableThough(v1beta2.ReasonEtcdAccessDenied)
		b.statusNames("operator-without-user", "it has no user", "Give the operators a user with the role root")
	})
	b.step("with a wrong password the status names the Secret", func(b *bench) {
		kubetest.Create(b, b.user("wrong"))
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Auth = &v1beta2.AuthPolicy{OperatorSecret: "user"} })
		b.operate(&killer.Count{}, "report the refusal", func() error {
			return b.says(v1beta2.ReasonEtcdAccessDenied, "the password in Secret user is wrong")
		})
		b.availableThough(v1beta2.ReasonEtcdAccessDenied)
		b.statusNames("password-wrong", "the password in Secret user is wrong", "Give the operators a user with the role root")
	})
	pods := b.uids()
	b.step("with the right password the cluster is Ready, and no member restarted", func(b *bench) {
		b.authAgain("first")
		b.operate(&killer.Count{}, "work again", b.isReady)
		if after := b.uids(); fmt.Sprint(after) != fmt.Sprint(pods) {
			b.Errorf("the Pods changed from %v to %v", pods, after)
		}
	})
	b.step("growing from one to three", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 3 })
		b.operate(&killer.Count{}, "grow", b.isReady)
	})
	b.step("replacing a member whose volume was deleted", func(b *bench) {
		lost := b.cluster.Status.MemberStatuses[0]
		b.delete(&corev1.PersistentVolumeClaim{}, lost.Name)
		b.delete(&corev1.Pod{}, lost.Name)
		b.operate(&killer.Count{}, "replace the member", func() error { return b.goneAndReady(lost) })
	})
	b.step("upgrading to the next minor version", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Version = newer })
		b.operate(&killer.Count{}, "upgrade", b.isReady)
	})
	store.put(t, "guarded.db", b.saveAs("root:first"))
	b.etcdctl("root:first", "", "put", "key", "changed")
	b.etcdctl("root:first", "second\n", "user", "passwd", "root", "--interactive=false")

	b.step("a restore waits before the switch while the password of the snapshot is unknown", func(b *bench) {
		b.authAgain("second")
		r := store.restore(b.cluster, "back", "guarded.db")
		kubetest.Create(b, r)
		restorer := b.restoreOperator(&killer.Count{})
		defer restorer.stop()
		before := b.cluster.Status.ClusterID
		b.operate(&killer.Count{}, "report that the seed refuses it", func() error {
			restorer.restart()
			return b.says(v1beta2.ReasonEtcdAccessDenied, "Authentication is on in the snapshot")
		})
		if b.cluster.Status.ClusterID != before {
			b.Error("clients were switched to a cluster that the operator cannot take care of")
		}
		b.statusNames("snapshot-with-users", "Authentication is on in the snapshot", "Give the operators a user with the role root")
		b.authAgain("first")
		b.operate(&killer.Count{}, "restore", func() error {
			restorer.restart()
			return errors.Join(b.isReady(), b.is(r, v1beta2.ConditionComplete))
		})
	})
	if value := b.etcdctl("root:first", "", "get", "--print-value-only", "key"); value != "kept\n" {
		t.Errorf("the restored key has the value %q, expected that of the snapshot", value)
	}
	b.step("shrinking from three to one", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 1 })
		b.operate(&killer.Count{}, "shrink", b.isReady)
	})
}

// TestALostQuorumIsRecoveredWithAuthenticationOn: without a quorum no member checks a password, and the operator that recovers
// has no token yet.
func TestALostQuorumIsRecoveredWithAuthenticationOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{
		Size: 2, Version: newer, Auth: &v1beta2.AuthPolicy{OperatorSecret: "user"},
		Recovery: &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster},
	})
	kubetest.Create(b, b.user("first"), b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	b.callAnyMember("kv/put", map[string]any{"key": []byte("key"), "value": []byte("kept")})
	b.callAnyMember("auth/user/add", map[string]any{"name": "root", "password": "first"})
	b.callAnyMember("auth/user/grant", map[string]any{"user": "root", "role": "root"})
	b.callAnyMember("auth/enable", map[string]any{})
	lost := b.cluster.Status.MemberStatuses[0]
	b.delete(&corev1.PersistentVolumeClaim{}, lost.Name)
	b.delete(&corev1.Pod{}, lost.Name)
	b.operate(&killer.Count{}, "recover", func() error { return b.goneAndReady(lost) })
	if value := b.etcdctl("root:first", "", "get", "--print-value-only", "key"); value != "kept\n" {
		t.Errorf("after the recovery the key has the value %q", value)
	}
}

// TestAuthenticationWithManagedCertificatesNeedsNoPassword shows that the operators are root, and that clients are not.
func TestAuthenticationWithManagedCertificatesNeedsNoPassword(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 1, Version: newer, TLS: &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{CAOverlap: lasting(0)}}})
	kubetest.Create(b, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	if s := b.cluster.Status; s.OperatorTLSSecret != "example-operator-tls" || s.ClientTLSSecret != "example-client-tls" {
		t.Errorf("the status names the Secrets %s and %s", s.OperatorTLSSecret, s.ClientTLSSecret)
	}
	for _, args := range [][]string{
		{"put", "/shop/a", "1"},
		{"user", "add", "root", "--no-password"}, {"user", "grant-role", "root", "root"}, {"user", "add", "shop", "--no-password"}, {"role", "add", "shop"},
		{"role", "grant-permission", "shop", "read", "--prefix=true", "/shop/"}, {"user", "grant-role", "shop", "shop"}, {"auth", "enable"},
	} {
		if out, err := b.etcdctlWith(v1beta2.OperatorSecretSuffix, args...); err != nil {
			t.Fatalf("etcdctl %v: %v\n%s", args, err, out)
		}
	}
	b.operate(&killer.Count{}, "stay Ready", b.isReady)
	if out, err := b.etcdctlWith(v1beta2.ClientSecretSuffix, "get", "/shop/a"); err == nil {
		t.Errorf("the applications' certificate may read everything:\n%s", out)
	}
	pods := b.uids()
	b.step("giving the applications the user of the spec restarts no member", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.TLS.Managed.ClientCommonName = "shop" })
		b.operate(&killer.Count{}, "issue the certificate", func() error {
			out, err := b.etcdctlWith(v1beta2.ClientSecretSuffix, "get", "/shop/a", "--print-value-only")
			if err != nil || out != "1\n" {
				return fmt.Errorf("the application reads %q: %w", out, err)
			}
			return b.isReady()
		})
		if after := b.uids(); fmt.Sprint(after) != fmt.Sprint(pods) {
			b.Errorf("the Pods changed from %v to %v", pods, after)
		}
	})
	b.step("growing", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 3 })
		b.operate(&killer.Count{}, "grow", b.isReady)
	})
	b.step("replacing the CA", func(b *bench) {
		first := string(b.secret("-ca")["ca.crt"])
		kubetest.MustKubectl(b, "", "annotate", "etcdcluster/"+b.cluster.Name, "-n", b.cluster.Namespace, v1beta2.AnnotationRotateCA+"=now")
		b.operate(&killer.Count{}, "replace the CA", func() error { return errors.Join(b.caReplaced(first), b.isReady()) })
	})
}

// etcdctlWith runs etcdctl with a certificate of the cluster.
func (b *bench) etcdctlWith(suffix string, args ...string) (string, error) {
	b.Helper()
	folder, secret := b.TempDir(), b.secret(suffix)
	for _, key := range []string{v1beta2.ClientCertKey, v1beta2.ClientKeyKey, v1beta2.ClientCAKey} {
		if err := os.WriteFile(filepath.Join(folder, key), secret[key], 0o600); err != nil {
			b.Fatal(err)
		}
	}
	pods := b.traffic.selected(b.Context())
	if len(pods) == 0 {
		return "", errors.New("the client Service selects no ready member")
	}
	args = append([]string{
		"--endpoints=https://" + pods[0].Status.PodIP + ":2379", "--insecure-skip-tls-verify",
		"--cert=" + filepath.Join(folder, v1beta2.ClientCertKey), "--key=" + filepath.Join(folder, v1beta2.ClientKeyKey), "--cacert=" + filepath.Join(folder, v1beta2.ClientCAKey),
	}, args...)
	out, err := exec.CommandContext(b.Context(), servers.EtcdctlProgram(b, "3.6"), args...).CombinedOutput()
	return string(out), err
}

// user is the Secret with the operator's user.
func (b *bench) user(password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.cluster.Namespace, Name: "user"}, Type: corev1.SecretTypeBasicAuth,
		StringData: map[string]string{v1beta2.AuthUsernameKey: "root", v1beta2.AuthPasswordKey: password},
	}
}

// authAgain changes the password in the Secret, as a user who changed it in etcd.
func (b *bench) authAgain(password string) {
	b.Helper()
	if err := b.client.Update(b.Context(), b.user(password)); err != nil {
		b.Fatal(err)
	}
}

// availableThough checks that the cluster is reported as available, and that a person is asked to act.
func (b *bench) availableThough(reason string) {
	b.Helper()
	conditions := b.cluster.Status.Conditions
	if !meta.IsStatusConditionTrue(conditions, v1beta2.ConditionAvailable) || !meta.IsStatusConditionTrue(conditions, v1beta2.ConditionStalled) {
		b.Errorf("with %s the conditions are %+v", reason, conditions)
	}
}

// slowCost returns the lowest cost of bcrypt with which this machine needs over a second for three passwords at once, if nothing else runs.
// The tenfold time is left if it gets busier.
func slowCost(t *testing.T) string {
	t.Helper()
	const times = 5
	runtime.LockOSThread() // whose time of the CPU is measured: what else runs now may have ended when the members check
	defer runtime.UnlockOSThread()
	cost, began := bcrypt.DefaultCost, cpuTime(t)
	for range times {
		if _, err := bcrypt.GenerateFromPassword([]byte("first"), cost); err != nil {
			t.Fatal(err)
		}
	}
	once := (cpuTime(t) - began) / times
	for ; once*3/2 < 1200*time.Millisecond; once *= 2 { // on two cores
		cost++
	}
	t.Logf("with the cost %d, a password takes about %s", cost, once)
	return strconv.Itoa(cost)
}

// cpuTime is how long this thread has used a CPU.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// patient lets etcdctl wait for a password that a busy machine checks. etcdctl logs in while it connects.
var patient = []string{"--command-timeout=1m", "--dial-timeout=1m"}

// etcdctl runs etcdctl at a member that the client Service selects, with a user and a password, or without.
func (b *bench) etcdctl(user, input string, args ...string) string {
	b.Helper()
	pods := b.traffic.selected(b.Context())
	if len(pods) == 0 {
		b.Fatal("the client Service selects no ready member")
	}
	to := []string{"--endpoints=http://" + pods[0].Status.PodIP + ":2379"}
	if user != "" {
		to = append(append(to, "--user="+user), patient...)
	}
	args = append(to, args...)
	command := exec.CommandContext(b.Context(), servers.EtcdctlProgram(b, "3.6"), args...)
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	if err != nil {
		b.Fatalf("etcdctl %v: %v\n%s", args[len(to):], err, out)
	}
	return string(out)
}

// saveAs returns a snapshot that a user saved with etcdctl.
func (b *bench) saveAs(user string) []byte {
	b.Helper()
	path := filepath.Join(b.TempDir(), "snapshot.db")
	b.etcdctl(user, "", "snapshot", "save", path)
	content, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return content
}

// TestAClusterThatChecksPasswordsSlowlyIsNotCalledLost: bcrypt is slow by design. Three members that each need long for the operator's
// password serve their clients, and nothing of them is replaced. A look gives them one second, and then ten once.
func TestAClusterThatChecksPasswordsSlowlyIsNotCalledLost(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{
		Size: 3, Version: newer, Auth: &v1beta2.AuthPolicy{OperatorSecret: "user"},
		Pod: &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_BCRYPT_COST", Value: slowCost(t)}}},
	})
	kubetest.Create(b, b.user("first"), b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	b.etcdctl("", "", append(patient, "user", "add", "root:first")...)
	b.etcdctl("", "", "user", "grant-role", "root", "root")
	b.etcdctl("", "", "auth", "enable")
	began := time.Now()
	b.etcdctl("root:first", "", "endpoint", "status")
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Fatalf("a password is checked within %s: this test shows nothing", took)
	}
	before := b.uids()

	// A new operator has no token: it logs in at all members at once.
	b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 1 })
	b.operate(&killer.Count{}, "shrink", func() error {
		err := b.isReady()
		if c := meta.FindStatusCondition(b.cluster.Status.Conditions, v1beta2.ConditionAvailable); c.Status != metav1.ConditionTrue {
			t.Errorf("the cluster serves, and is reported as %s, %s: %s", c.Status, c.Reason, c.Message)
		}
		return err
	})
	for name, uid := range b.uids() {
		if before[name] != uid {
			t.Errorf("Pod %s was replaced; before, the cluster had %v", name, before)
		}
	}
}
