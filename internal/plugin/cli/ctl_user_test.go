package cli

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/etcdctl"
)

// TestMain makes the test binary etcdctl, if a test starts it as such. It prints the key of the user and its arguments.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == etcdctl.Command {
		for _, arg := range os.Args[2:] {
			if file, is := strings.CutPrefix(arg, "--key="); is {
				key, err := os.ReadFile(file)
				fmt.Printf("%s %v ", key, err)
			}
		}
		fmt.Println(os.Args[2:])
		if slices.Contains(os.Args, "fail") {
			os.Exit(4)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// With authentication on, etcd refused each command of etcdctl in the Pod, because the certificate there is of no user. And the key of an administrator
// that remains on a machine gives its next user all data.
func TestCtlRunsAsAUserOfEtcdAndLeavesNoFile(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("ETCDCTL_ENDPOINTS", "https://another.example.com") // of another cluster
	k := kitAt(t, &rest.Config{Host: member(t)})
	out, err := k.run(t, "ctl", "example", "--user", "root", "--", "get", "x")
	if want := regexp.MustCompile(`^key <nil> \[--endpoints=https://localhost:\d+ --cacert=\S+ --cert=\S+ --key=\S+ get x\]\n$`); err != nil || !want.MatchString(out) {
		t.Errorf("%q %v", out, err)
	}
	if _, err := k.run(t, "ctl", "example", "--user", "root", "--", "fail"); ExitCode(t.Context(), err) != 4 {
		t.Errorf("%v", err)
	}
	if _, err := k.run(t, "ctl", "example", "--user", "unknown", "--", "get", "x"); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("a user without a certificate: %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v %v", left, err)
	}
}

// A new administrator turned authentication on, and did not learn why etcdctl was refused.
func TestCtlAsksForAUserIfAuthenticationIsOn(t *testing.T) {
	cluster := example()
	cluster.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
	cluster.Status.Auth = &v1beta2.AuthStatus{Enabled: true}
	_, err := kitOf(t, cluster, podOf("example-a")).run(t, "ctl", "example", "--", "get", "x")
	if err == nil || !strings.Contains(err.Error(), "--user root") || !strings.Contains(err.Error(), "Nothing was run") {
		t.Errorf("%v", err)
	}
}

// An administrator could neither defragment a cluster with authentication on nor measure it: etcd refused the certificate in the Pod.
func TestDefragAndBenchRunAsTheOperatorsIfAuthenticationIsOn(t *testing.T) {
	for _, args := range [][]string{{"defrag", "example", "--yes"}, {"bench", "example", "--yes"}} {
		k := kitAt(t, &rest.Config{Host: member(t)})
		cluster := example()
		if err := k.Known.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
			t.Fatal(err)
		}
		cluster.Status.Auth, cluster.Status.MemberStatuses = &v1beta2.AuthStatus{Enabled: true}, cluster.Status.MemberStatuses[:2]
		if err := k.Known.Status().Update(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
		out, err := k.run(t, args...)
		if want := regexp.MustCompile(`key <nil> \[--endpoints=https://localhost:\d+ --cacert=\S+ --cert=\S+ --key=\S+ (defrag|check perf) `); err != nil || !want.MatchString(out) {
			t.Errorf("%v: %q %v", args, out, err)
		}
	}
}
