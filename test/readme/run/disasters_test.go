package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/etcd-suite/etcd-operator/test/readme"
)

// A disaster is a block of commands of the page, and what the test does before and after it.
type disaster struct {
	name   string
	before func(*reader) // may be nil
	cause  func(*reader)
	after  func(*reader) // may be nil
}

// disasters are all disasters of the page, in an order in which each one begins with a cluster that is archived.
var disasters = []disaster{
	{name: "look", cause: with("true")},
	{name: "member", cause: with("true")}, // the page deletes the Pod
	{name: "node", cause: (*reader).loseNode, after: (*reader).replacedNode},
	{name: "quorum", cause: with(lose("1,2"))},
	{name: "all-members", cause: with(lose("0,1,2"))},
	{name: "cluster", cause: with("kubectl delete -n etcd etcd/example --timeout=120s; while kubectl get -n etcd pvc -o name | grep -q .; do sleep 1; done")},
	{name: "operator", cause: with("helm uninstall etcd-operator -n etcd-operator --wait")},
	{name: "namespace", cause: (*reader).loseNamespace},
	{name: "region", before: (*reader).copyToSecondStore, cause: (*reader).loseRegion},
	{name: "another-kubernetes", before: (*reader).archiveInSecondStore, cause: (*reader).loseKubernetes},
	{name: "wrong-data", before: (*reader).archiveInSecondStore, cause: (*reader).writeWrongData},
}

func with(command string) func(*reader) {
	return func(r *reader) { r.command(command) }
}

// lose deletes the volumes of some members, by their position, and stops the Pods without a chance to write.
func lose(which string) string {
	return `names=($(kubectl get pods -n etcd -l etcd_cluster=example -o jsonpath='{.items[*].metadata.name}')); lost=(); for i in ` + strings.ReplaceAll(which, ",", " ") +
		`; do lost+=("${names[$i]}"); done; kubectl delete -n etcd pvc --wait=false "${lost[@]}"; kubectl delete -n etcd pod --force --grace-period=0 "${lost[@]}"`
}

// loseNode powers off a node with a member and, if it is not the node of the object store, with cluster-operator.
func (r *reader) loseNode() {
	r.t.Helper()
	node := r.command(`kubectl get pods -A -o jsonpath='{range .items[*]}{.metadata.name} {.spec.nodeName}{"\n"}{end}' | sort | ` +
		`awk '/^s3-/ {s3 = $2} /^example-/ {of[$2] = $1} /-cluster-operator-/ {first = $2} ` +
		`END {if (first != s3 && first in of) print first; else for (n in of) if (n != s3) {print n; exit}}'`)
	r.env = append(r.env, "NODE="+node)
	r.env = append(r.env, "MEMBER="+r.command(`kubectl get pods -n etcd -l etcd_cluster=example -o jsonpath="{.items[?(@.spec.nodeName=='$NODE')].metadata.name}"`))
	r.command(`kubectl get pods -A -o wide --field-selector spec.nodeName="$NODE"`)
	r.command(`localkube node stop "$NODE"`)
	r.command(`kubectl wait "node/$NODE" --for=condition=Ready=Unknown --timeout=120s`)
}

// replacedNode checks that another member has the place of the lost one, and adds a node.
func (r *reader) replacedNode() {
	r.t.Helper()
	r.command(`kubectl get pods,pvc -n etcd -o name | tee members; ! grep -q "/$MEMBER$" members`)
	r.command(`localkube node start "$NODE"`)
}

func (r *reader) loseNamespace() {
	r.t.Helper()
	r.notesClusterID()
	r.command("kubectl delete namespace etcd --timeout=300s")
}

// notesClusterID keeps the ID of the cluster that is to be lost.
func (r *reader) notesClusterID() {
	r.t.Helper()
	r.env = append(r.env, "CLUSTER_ID="+r.command("kubectl get etcd -n etcd example -o jsonpath={.status.clusterID}"))
}

// loseRegion loses the cluster and the first store, after the last snapshot was copied.
func (r *reader) loseRegion() {
	r.t.Helper()
	r.snapshot("copied")
	r.command(`for i in $(seq 120); do set -- $(kubectl get -n etcd etcdbackup/example-continuous -o jsonpath='{.status.snapshot.sha256} {.status.copies.newest.sha256}'); ` +
		`if [ "$1" = "${2:-}" ]; then exit 0; fi; sleep 1; done; exit 1`)
	r.notesClusterID()
	r.command("kubectl delete namespace etcd object-store --timeout=300s")
}

// loseKubernetes kills all nodes and the control plane, deletes their disks, and installs the suite in a new Kubernetes.
func (r *reader) loseKubernetes() {
	r.t.Helper()
	r.notesClusterID()
	r.clean()
	r.kubernetes()
	r.loadImagesOfRegistries(r.t.TempDir())
	r.run("README.md", "install")
	r.run("README.md", "store")
}

// writeWrongData overwrites the greeting, after the second that the page restores.
func (r *reader) writeWrongData() {
	r.t.Helper()
	r.env = append(r.env, "TIME="+r.command("date -u +%Y-%m-%dT%H:%M:%SZ"))
	r.command(`while [ "$(date -u +%Y-%m-%dT%H:%M:%SZ)" = "$TIME" ]; do sleep 0.1; done`)
	r.put("wrong")
}

// A location is where the EtcdBackup of the page stores.
type location struct{ bucket, secret, endpoint string }

var (
	firstStore  = location{bucket: "etcd-backups", secret: "s3-credentials", endpoint: "http://s3.object-store.svc:7070"}
	secondStore = location{bucket: "other-region", secret: "second-location", endpoint: "http://" + readme.SecondStore}
)

const secondKeys = "ACCESS_KEY_ID=second SECRET_ACCESS_KEY=second-secret"

// startSecondStore starts an S3 server on this machine. It does not need the local Kubernetes.
func (r *reader) startSecondStore() {
	r.t.Helper()
	data := r.t.TempDir()
	if err := os.Mkdir(filepath.Join(data, secondStore.bucket), 0o755); err != nil {
		r.t.Fatal(err)
	}
	_, port, _ := strings.Cut(readme.SecondStore, ":")
	server := exec.CommandContext(r.t.Context(), filepath.Join(os.Getenv("TEST_BIN"), "versitygw"), "--port", ":"+port, "--quiet", "posix", data)
	server.Dir, server.Env = r.t.TempDir(), []string{"ROOT_ACCESS_KEY=second", "ROOT_SECRET_KEY=second-secret"}
	if err := server.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = server.Wait() }) // the test's context has ended it
	r.env = append(r.env, strings.Fields(secondKeys)...)
}

// archiveTo writes the store into the example of the page, and applies it.
func (r *reader) archiveTo(l location, more string) {
	r.t.Helper()
	const example = "examples/etcdbackup-continuous.yaml"
	text, err := os.ReadFile(filepath.Join(root, example))
	if err != nil {
		r.t.Fatal(err)
	}
	text = []byte(strings.NewReplacer("<bucket>", l.bucket, "s3-credentials", l.secret,
		"region: eu-central-1", "endpoint: "+l.endpoint+"\n    forcePathStyle: true").Replace(string(text)) + more)
	if err := os.WriteFile(filepath.Join(r.dir, example), text, 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.command("kubectl apply -n etcd -f " + example)
	r.command("kubectl wait -n etcd etcdbackup/example-continuous --for=condition=Archiving --timeout=180s")
}

// secret creates the Secret of the second store, unless it exists.
func (r *reader) secret() {
	r.t.Helper()
	r.command(`kubectl get secret -n etcd second-location || kubectl create secret generic second-location -n etcd ` +
		`--from-literal=access-key-id="$ACCESS_KEY_ID" --from-literal=secret-access-key="$SECRET_ACCESS_KEY"`)
}

func (r *reader) copyToSecondStore() {
	r.t.Helper()
	r.secret()
	r.archiveTo(firstStore, "  copyTo:\n    storageType: S3\n    s3: {path: "+secondStore.bucket+"/continuous, awsSecret: "+secondStore.secret+
		", endpoint: \""+secondStore.endpoint+"\", forcePathStyle: true}\n")
}

// archiveInSecondStore makes the second store the first one, as after the loss of a region. It keeps the folder with the copies.
func (r *reader) archiveInSecondStore() {
	r.t.Helper()
	r.secret()
	r.command("kubectl delete -n etcd etcdbackup/example-continuous --ignore-not-found --timeout=60s")
	r.archiveTo(secondStore, "")
}

// snapshot takes a snapshot now.
func (r *reader) snapshot(request string) {
	r.t.Helper()
	r.command("kubectl annotate -n etcd etcdbackup/example-continuous --overwrite etcd.database.coreos.com/backup-now=" + request)
	r.command("kubectl wait -n etcd etcdbackup/example-continuous --for=jsonpath='{.status.handledRequest}'=" + request + " --timeout=120s")
}
