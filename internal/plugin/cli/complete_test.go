package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The names of members and snapshots are long and random. Without completion a user copies them from another window.
func TestNamesAndValuesAreCompleted(t *testing.T) {
	k := kitOf(t, fenced("example-b"), hourly(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	for line, want := range map[string]string{
		"status ":                     "example",
		"replace ":                    "example",
		"replace example ":            "example-a example-b example-c",
		"fence example ":              "example-a example-b example-c",
		"unfence example ":            "example-b",
		"move-leader example ":        "example-a example-b example-c",
		"upgrade example ":            "3.6. 3.7.",
		"explain Quorum":              "QuorumLost",
		"restore example --backup ":   "hourly",
		"restore example --snapshot ": "20261123T110000Z-480.db",
		"backup example --like ":      "hourly",
		"backup example --storage ":   "S3 GCS ABS",
		"ctl example --member ":       "example-a example-b example-c",
		"status example --output ":    "json yaml wide",
		"status --namespace ":         "ns",
		"version ":                    "",
		"status example example-a ":   "",
	} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		var words []string
		for word := range strings.SplitSeq(k.must(t, args...), "\n") {
			if word, _, _ = strings.Cut(word, "\t"); word != "" && !strings.HasPrefix(word, ":") && strings.HasPrefix(word, args[len(args)-1]) {
				words = append(words, word)
			}
		}
		if diff := cmp.Diff(want, strings.Join(words, " ")); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
}

// kubectl completes the words of a plugin only by a program kubectl_complete-etcd.
func TestKubectlGetsCompletionsFromTheSameProgram(t *testing.T) {
	for _, program := range []string{"/usr/local/bin/kubectl_complete-etcd", `kubectl_complete-etcd.exe`} {
		if diff := cmp.Diff([]string{"__complete", "status", ""}, Arguments([]string{program, "status", ""})); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff([]string{"status"}, Arguments([]string{"kubectl-etcd", "status"})); diff != "" {
		t.Error(diff)
	}
}

// A user of a new command reads its example first, and a cluster name that must be typed in full is typed wrong.
func TestEveryCommandHasAnExampleAndSaysHowItIsWritten(t *testing.T) {
	k := kitOf(t)
	for _, c := range command(k.Session, "dev").Commands() {
		if !strings.Contains(c.Example, "kubectl etcd "+c.Name()) {
			t.Errorf("%s has no example", c.Name())
		}
		if c.ValidArgsFunction == nil {
			t.Errorf("%s completes files", c.Name())
		}
	}
	if _, err := k.run(t, "replace", "example"); err == nil || !strings.Contains(err.Error(), "kubectl etcd replace <cluster> <member>") {
		t.Errorf("%v", err)
	}
}
