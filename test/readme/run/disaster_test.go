package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/test/readme"
)

const disasterPage = "docs/disaster-recovery.md"

// TestEachDisasterIsOvercomeByItsPage causes one disaster after the other, and then runs the commands of the page alone. After each one
// the cluster must have the last key that was written before it.
func TestEachDisasterIsOvercomeByItsPage(t *testing.T) {
	if os.Getenv("DISASTERS") == "" {
		t.Skip("it takes ten minutes: run make disasters")
	}
	r := newReader(t)
	r.run("README.md", "install")
	r.command("kubectl create namespace etcd")
	r.command("kubectl apply -n etcd -f examples/etcdcluster.yaml -f examples/secret-s3.yaml")
	r.command("kubectl wait -n etcd etcd/example --for=condition=Ready --timeout=180s")
	r.archive()
	n := 0
	for _, disaster := range []struct{ name, cause string }{
		{"look", "true"},
		{"member", "true"}, // the page deletes the Pod
		{"quorum", lose("1,2")},
		{"all-members", lose("0,1,2")},
		{"cluster", "kubectl delete -n etcd etcd/example --timeout=120s; while kubectl get -n etcd pvc -o name | grep -q .; do sleep 1; done"},
		{"operator", "helm uninstall etcd-operator -n etcd-operator --wait"},
		{"namespace", "kubectl delete namespace etcd --timeout=300s"},
	} {
		n++
		greeting := fmt.Sprintf("hello-%d", n)
		r.put(greeting)
		if disaster.name == "namespace" { // only what a snapshot has is found without the EtcdBackup
			r.command("kubectl annotate -n etcd etcdbackup/example-continuous --overwrite etcd.database.coreos.com/backup-now=last")
			r.command("kubectl wait -n etcd etcdbackup/example-continuous --for=jsonpath='{.status.handledRequest}'=last --timeout=120s")
			r.env = append(r.env, "CLUSTER_ID="+r.command("kubectl get etcd -n etcd example -o jsonpath={.status.clusterID}"))
		}
		r.command(disaster.cause)
		r.script(disasterPage, disaster.name)
		r.command("kubectl wait -n etcd etcd/example --for=condition=Ready --timeout=300s")
		if got := r.get(); got != greeting {
			t.Fatalf("after the disaster %q etcd returns %q, want %q", disaster.name, got, greeting)
		}
	}
	r.clean()
}

// lose deletes the volumes of some members, by their position, and stops the Pods without a chance to write.
func lose(which string) string {
	return `names=($(kubectl get pods -n etcd -l etcd_cluster=example -o jsonpath='{.items[*].metadata.name}')); lost=(); for i in ` + strings.ReplaceAll(which, ",", " ") +
		`; do lost+=("${names[$i]}"); done; kubectl delete -n etcd pvc --wait=false "${lost[@]}"; kubectl delete -n etcd pod --force --grace-period=0 "${lost[@]}"`
}

// archive creates the EtcdBackup of the page.
func (r *reader) archive() {
	r.command(`sed -e 's|<bucket>|etcd-backups|' -e 's|    region: .*|    endpoint: http://s3.object-store.svc:7070\n    forcePathStyle: true|' examples/etcdbackup-continuous.yaml | kubectl apply -n etcd -f -`)
	r.command("kubectl wait -n etcd etcdbackup/example-continuous --for=condition=Archiving --timeout=120s")
}

// put writes the greeting, and waits until the archive has it: that is at most maxLag, an upload and a minute until the status says so.
func (r *reader) put(greeting string) {
	r.t.Helper()
	r.command("kubectl exec -n etcd service/example-client -- etcdctl put greeting " + greeting)
	revision := r.command("kubectl exec -n etcd service/example-client -- etcdctl get greeting -w fields | sed -n 's/^\"ModRevision\" : //p'")
	r.command(`for i in $(seq 120); do to=$(kubectl get -n etcd etcdbackup/example-continuous -o jsonpath='{.status.recoverable[-1:].to.revision}'); ` +
		`if [ "${to:-0}" -ge ` + revision + ` ]; then exit 0; fi; sleep 1; done; exit 1`)
}

func (r *reader) get() string {
	r.t.Helper()
	return r.command("kubectl exec -n etcd service/example-client -- etcdctl get greeting --print-value-only")
}

// script runs a block as one script, because it has lines that belong together.
func (r *reader) script(file, name string) {
	r.t.Helper()
	blocks, err := readme.Blocks(filepath.Join(root, file))
	if err != nil {
		r.t.Fatal(err)
	}
	block, err := readme.Find(blocks, name)
	if err != nil {
		r.t.Fatalf("%s: %v", file, err)
	}
	text, _ := readme.Replace(strings.Join(block.Lines, "\n"))
	r.command(text)
}
