package pods

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// mountedSecrets lists the Secrets that the container mounts or reads variables from.
func mountedSecrets(pod *corev1.Pod, container corev1.Container) string {
	var names []string
	for _, mount := range container.VolumeMounts {
		for _, v := range pod.Spec.Volumes {
			if v.Name == mount.Name && v.Secret != nil {
				names = append(names, "`"+v.Secret.SecretName+"`")
			}
		}
	}
	for _, variable := range container.Env {
		if variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil {
			names = append(names, "`"+variable.ValueFrom.SecretKeyRef.Name+"`")
		}
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// identityTable has what the Pods of seeds and their containers are given to read a snapshot.
func identityTable(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("| case | Secrets of the container that reads | Secrets of the etcd container | ServiceAccount of the Pod |\n|---|---|---|---|\n")
	for _, row := range []struct{ name, secret, url string }{
		{"a Secret is named, for example in `awsSecret`", "awsSecret", ""},
		{"no Secret is named, and the operator has signed a URL", "", "status.signedURL.secretName"},
		{"no Secret is named, and the operator could not sign, or `restoreOperator.signedURLs` is `false`", "", ""},
	} {
		s := clustertest.State(plantest.Formed, plantest.Members(3), plantest.Policy(v1beta2.PodPolicy{ServiceAccountName: "spec.pod.serviceAccountName"}), clustertest.Restored(v1beta2.RestoreSeeding), clustertest.FromBucket)
		s.Request.Source.Secret, s.Request.SignedURL = row.secret, row.url
		pod := NewPod(s, steps.CreateMember{Name: clustertest.SeedName, Incarnation: 2, Start: state.StartSeed}, clustertest.SeedImage)
		reads := pod.Spec.InitContainers[len(pod.Spec.InitContainers)-1]
		if reads.Name != SeedContainer {
			t.Fatalf("the last init container is %s", reads.Name)
		}
		fmt.Fprintf(&out, "| %s | %s | %s | `%s` |\n", row.name, mountedSecrets(pod, reads), mountedSecrets(pod, pod.Spec.Containers[0]), pod.Spec.ServiceAccountName)
	}
	return out.String()
}

func TestTheDocumentsStateTheIdentityOfTheSeed(t *testing.T) {
	const path, begin, end = "../../../docs/restore.md", "<!-- identity of the seed: begin -->\n", "<!-- identity of the seed: end -->"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), begin)
	old, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s lacks %q and %q", path, begin, end)
	}
	table := identityTable(t)
	if *clustertest.Update {
		if err := os.WriteFile(path, []byte(before+begin+table+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if old != table {
		t.Errorf("the table in %s differs from the Pods; to write it, run this test with -update:\n%s", path, table)
	}
	// What the other documents state about the same Pods.
	for path, claims := range map[string][]string{
		"../../../charts/etcd-operator/README.md": {"The members need no rights on the bucket.", "If the operator cannot sign, the condition Verified names the cause, and the member reads as its own ServiceAccount."},
		"../../../docs/install.md":                {"give the members' ServiceAccount (`spec.pod.serviceAccountName`) a right to read, and set `restoreOperator.signedURLs: false`"},
	} {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, claim := range claims {
			if !strings.Contains(strings.Join(strings.Fields(string(raw)), " "), claim) {
				t.Errorf("%s does not state %q", path, claim)
			}
		}
	}
}
