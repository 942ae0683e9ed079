// Package run runs the commands of the documentation on a fresh local Kubernetes: from nothing to a restored cluster in a
// namespace and a bucket of its own, an upgrade, a rollback, and the removal of everything.
package run

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("TEST_BIN") == "" {
		if os.Getenv("CI") == "true" {
			fmt.Println("the commands of the documentation need a Kubernetes: run make readme")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestTheCommandsOfTheDocumentationWork(t *testing.T) {
	r := newReader(t)
	r.run("README.md", "install")
	r.run("README.md", "store")
	r.run("README.md", "choose")
	// What the README's commands create also works in a namespace with the restricted Pod Security Standard.
	r.command("kubectl label namespace my-team pod-security.kubernetes.io/enforce=restricted")
	if got := r.run("README.md", "use"); got != "greeting\nhello" {
		t.Fatalf("after the restore etcd returns %q, want the greeting", got)
	}
	if path := r.command("kubectl get etcdbackup/example --output jsonpath={.spec.s3.path}"); !strings.HasPrefix(path, "my-bucket/") {
		t.Errorf("the snapshot is in %s, so the test did not use another bucket", path)
	}
	if picture := os.Getenv("README_SESSION"); picture != "" {
		r.show("kubectl etcd status example")
		if err := os.WriteFile(picture, []byte(r.session.String()), 0o644); err != nil { // a picture for everybody
			t.Fatal(err)
		}
	}

	members := r.members()
	if len(strings.Fields(members)) != 3 {
		t.Fatalf("the cluster has the Pods %q, want three", members)
	}
	r.run("docs/install.md", "upgrade")
	r.command("kubectl rollout restart deployment --namespace etcd-operator")
	r.command("kubectl rollout status deployment --namespace etcd-operator --timeout=5m")
	r.run("docs/install.md", "rollback")
	if after := r.members(); after != members {
		t.Errorf("upgrade and rollback restarted members:\n%s\nbefore:\n%s", after, members)
	}
	if !r.fresh {
		r.command("kubectl delete namespace my-team --timeout=5m")
		return
	}
	r.run("docs/install.md", "uninstall")
	if left := r.command("kubectl get pods,persistentvolumeclaims,services,poddisruptionbudgets --namespace my-team --output name"); left != "" {
		t.Errorf("the removal of everything left %s", left)
	}
	if left := r.command("kubectl get customresourcedefinitions --output name"); left != "" {
		t.Errorf("the removal of everything left %s", left)
	}
	r.clean()
}

// members returns the name, the UID and the number of restarts of each member.
func (r *reader) members() string {
	return r.command(`kubectl get pods --selector etcd_cluster=example --sort-by .metadata.name ` +
		`--output jsonpath='{range .items[*]}{.metadata.name}/{.metadata.uid}/{.status.containerStatuses[*].restartCount}{"\n"}{end}'`)
}
