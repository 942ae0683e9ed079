package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// gcsSecret is the Secret for the emulator of GCS, which accepts any token.
const gcsSecret = `
apiVersion: v1
kind: Secret
metadata: {name: gcs-credentials}
stringData: {access-token: demo}
`

// s3Backup and s3Restore return manifests that use an object of the S3 server in the cluster.
func s3Backup(name, source, path string) string {
	return fmt.Sprintf(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdBackup
metadata: {name: %s}
spec:
  %s
  storageType: S3
  s3: {path: %q, awsSecret: s3-credentials, endpoint: "http://s3.object-store.svc:7070", forcePathStyle: true}
`, name, source, path)
}

func s3Restore(name, cluster, path string) string {
	return fmt.Sprintf(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdRestore
metadata: {name: %s}
spec:
  etcdCluster: {name: %s}
  backupStorageType: S3
  s3: {path: %q, awsSecret: s3-credentials, endpoint: "http://s3.object-store.svc:7070", forcePathStyle: true}
`, name, cluster, path)
}

func ofCluster(name string) string { return "etcdCluster: {name: " + name + "}" }

// object reads an object from the S3 server. It returns nil if the object does not exist.
func (n *namespaced) object(key string) []byte {
	n.Helper()
	response, err := suite.s3.GetObject(n.Context(), &s3.GetObjectInput{Bucket: aws.String(stack.Bucket), Key: &key})
	var missing *s3types.NoSuchKey
	if errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		n.Fatalf("read object %s: %v", key, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		n.Fatalf("read object %s: %v", key, err)
	}
	return content
}

// store writes an object to the S3 server.
func (n *namespaced) store(key string, content []byte) {
	n.Helper()
	_, err := suite.s3.PutObject(n.Context(), &s3.PutObjectInput{Bucket: aws.String(stack.Bucket), Key: &key, Body: strings.NewReader(string(content))})
	if err != nil {
		n.Fatalf("write object %s: %v", key, err)
	}
}

// etcdutl runs etcdutl of a minor version ("3.6").
func (n *namespaced) etcdutl(minor string, args ...string) string {
	n.Helper()
	output, err := exec.CommandContext(n.Context(), filepath.Join(os.Getenv("TEST_BIN"), "etcdutl-"+minor), args...).CombinedOutput()
	if err != nil {
		n.Fatalf("etcdutl-%s %s: %v: %s", minor, strings.Join(args, " "), err, output)
	}
	return string(output)
}

func TestSnapshotsCanBeRestoredWithEtcdutl(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.applyFile("examples/secret-s3.yaml")
	n.apply(three)
	n.ready("three")
	n.put(n.etcd("three", nil), "key", 100)
	key := n.name + "/one-shot.db"
	n.apply(s3Backup("once", ofCluster("three"), stack.Bucket+"/"+key))
	backup := becomes(n, &v1beta2.EtcdBackup{}, "once", v1beta2.ConditionComplete)
	if s := backup.Status; !s.Succeeded || s.Reason != "" || s.EtcdVersion != "3.6.16" || s.EtcdRevision < 100 || s.LastSuccessDate == nil || s.Snapshot == nil {
		t.Fatalf("the status does not report a complete, verified snapshot of etcd 3.6.16 with its revision and date: %+v", s)
	}
	snapshot := n.object(key)
	if int64(len(snapshot)) != backup.Status.Snapshot.Size {
		t.Fatalf("the object has %d bytes, but the status reports %d", len(snapshot), backup.Status.Snapshot.Size)
	}
	file := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(file, snapshot, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, minor := range []string{"3.5", "3.6", "3.7"} {
		n.etcdutl(minor, "snapshot", "restore", file, "--data-dir", filepath.Join(t.TempDir(), "data"))
	}
	var status struct {
		Revision int64 `json:"revision"`
	}
	if err := json.Unmarshal([]byte(lastLine(n.etcdutl("3.6", "snapshot", "status", file, "-w", "json"))), &status); err != nil {
		t.Fatal(err)
	}
	if status.Revision != backup.Status.EtcdRevision {
		t.Errorf("the snapshot has revision %d, but the status reports %d", status.Revision, backup.Status.EtcdRevision)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func TestBackupsFromEndpointsAndToGCSSucceed(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.applyFile("examples/secret-s3.yaml")
	n.apply(gcsSecret)
	n.apply(three)
	n.ready("three")
	n.put(n.etcd("three", nil), "key", 10)
	endpoints := fmt.Sprintf(`etcdEndpoints: ["http://nobody.%[1]s.svc:2379", "http://three-client.%[1]s.svc:2379"]`, n.name)
	n.apply(s3Backup("by-endpoints", endpoints, stack.Bucket+"/"+n.name+"/by-endpoints.db"))
	n.apply(fmt.Sprintf(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdBackup
metadata: {name: to-gcs}
spec:
  etcdCluster: {name: three}
  storageType: GCS
  gcs: {path: "%s/%s/to-gcs.db", gcpSecret: gcs-credentials, endpoint: "http://gcs.object-store.svc:4443"}
`, stack.Bucket, n.name))
	becomes(n, &v1beta2.EtcdBackup{}, "by-endpoints", v1beta2.ConditionComplete)
	becomes(n, &v1beta2.EtcdBackup{}, "to-gcs", v1beta2.ConditionComplete)
}

// The archived operator overwrote an existing object with a one-shot backup (defect 21).
func TestOneShotBackupsNeverOverwriteAnObject(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.applyFile("examples/secret-s3.yaml")
	n.apply(three)
	n.ready("three")
	key := n.name + "/precious.db"
	n.store(key, []byte("precious"))
	n.apply(s3Backup("once", ofCluster("three"), stack.Bucket+"/"+key))
	says(n, &v1beta2.EtcdBackup{}, "once", v1beta2.ConditionReady, v1beta2.ReasonObjectExists, key)
	n.statusNames("three", "object-exists", key, "Apply a new EtcdBackup with another path")
	if got := string(n.object(key)); got != "precious" {
		t.Errorf("the backup overwrote an existing object: its content is now %q", got)
	}
}

// One invalid resource crashed the archived operator, so all other backups stopped (defect 6).
func TestInvalidBackupsReportTheCauseAndDoNotAffectOthers(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.applyFile("examples/secret-s3.yaml")
	n.apply(three)
	n.ready("three")
	place := func(what string) string { return stack.Bucket + "/" + n.name + "/" + what }
	n.apply(
		s3Backup("no-cluster", ofCluster("nobody"), place("no-cluster")),
		s3Backup("no-bucket", ofCluster("three"), "no-such-bucket/x"),
		s3Backup("no-path", ofCluster("three"), "no-slash"),
		s3Backup("no-endpoint", `etcdEndpoints: ["http://nobody.`+n.name+`.svc:2379"]`, place("no-endpoint")),
		strings.Replace(s3Backup("no-secret", ofCluster("three"), place("no-secret")), "s3-credentials", "no-such-secret", 1),
		strings.Replace(s3Backup("no-store", ofCluster("three"), place("no-store")), "s3.object-store", "nobody.object-store", 1),
	)
	for name, want := range map[string][]string{
		"no-cluster":  {v1beta2.ReasonClusterNotFound, "nobody"},
		"no-bucket":   {v1beta2.ReasonBucketNotFound, "no-such-bucket"},
		"no-path":     {v1beta2.ReasonInvalidSpec, "no-slash"},
		"no-endpoint": {v1beta2.ReasonEndpointUnreachable, "nobody"},
		"no-secret":   {v1beta2.ReasonSecretMissing, "no-such-secret"},
		"no-store":    {v1beta2.ReasonStoreUnreachable, "nobody.object-store"},
	} {
		says(n, &v1beta2.EtcdBackup{}, name, v1beta2.ConditionReady, want[0], want[1])
	}
	n.apply(s3Backup("good", ofCluster("three"), place("good")))
	becomes(n, &v1beta2.EtcdBackup{}, "good", v1beta2.ConditionComplete)
	n.operatorsNeverRestarted()
}
