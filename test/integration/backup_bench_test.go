package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// backupBench is a test bench: a namespace with a running backup-operator, an S3 server with the bucket "backups" and its
// Secret "aws". The test acts as cluster-operator.
type backupBench struct {
	*testing.T
	namespace string
	server    *servers.S3Server
	bucket    connect.Access
	spool     string
	operator  *runningOperator
	// allowed is what the operator's own identity may be used for.
	allowed grant.List
}

// runningOperator outlives the subtest that restarted it.
type runningOperator struct {
	t    *testing.T
	stop func()
}

func newBackupBench(t *testing.T) *backupBench { return newBackupBenchWith(t, grant.Everything()) }

// newBackupBenchWith lets the operator use its own identity as the list says.
func newBackupBenchWith(t *testing.T, allowed grant.List) *backupBench {
	b := &backupBench{T: t, namespace: kubetest.Namespace(t), server: servers.S3(t), spool: t.TempDir(), operator: &runningOperator{t: t}, allowed: allowed}
	b.server.CreateBucket(t, "backups")
	b.bucket = s3Location(b.server, "backups")
	kubetest.Create(t, b.secret("aws", b.bucket.Data))
	b.start()
	return b
}

func (b *backupBench) start() {
	b.Helper()
	b.operator.stop = kubetest.RunManager(b.operator.t, b.namespace, func(_ context.Context, mgr manager.Manager) error {
		return backup.Setup(mgr, backup.Options{SpoolDir: b.spool, Try: kubetest.TryHere, MaxConcurrent: 2, OwnIdentity: b.allowed, Metrics: prometheus.NewRegistry()})
	})
}

func (b *backupBench) stop() { b.operator.stop() }

func (b *backupBench) secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}, Data: data}
}

// backup returns an EtcdBackup of endpoints to a path of the bench's S3 server.
func (b *backupBench) backup(name, path string, endpoints ...string) *v1beta2.EtcdBackup {
	return &v1beta2.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name},
		Spec: v1beta2.EtcdBackupSpec{
			EtcdEndpoints: endpoints,
			StorageType:   v1beta2.StorageS3,
			Storage: v1beta2.Storage{S3: &v1beta2.S3Source{
				Path: path, AWSSecret: "aws", Endpoint: b.server.Endpoint, ForcePathStyle: true,
			}},
		},
	}
}

func backupConditions(backup *v1beta2.EtcdBackup) []metav1.Condition { return backup.Status.Conditions }

// ready waits until the condition Ready has the status and the reason, and returns its message.
func (b *backupBench) ready(backup *v1beta2.EtcdBackup, status metav1.ConditionStatus, reason string) string {
	b.Helper()
	kubetest.AwaitCondition(b, backup, backupConditions, v1beta2.ConditionReady, status, reason)
	return meta.FindStatusCondition(backup.Status.Conditions, v1beta2.ConditionReady).Message
}

// fails waits until Ready is False with the reason and a message that contains all parts. An earlier pass may report the
// reason with a different message.
func (b *backupBench) fails(backup *v1beta2.EtcdBackup, reason string, says ...string) {
	b.Helper()
	kubetest.Await(b, backup, fmt.Sprintf("become not Ready for the reason %s with a message that contains %q", reason, says), func(backup *v1beta2.EtcdBackup) bool {
		found := meta.FindStatusCondition(backup.Status.Conditions, v1beta2.ConditionReady)
		return found != nil && found.Status == metav1.ConditionFalse && found.Reason == reason && found.ObservedGeneration == backup.Generation &&
			!slices.ContainsFunc(says, func(part string) bool { return !strings.Contains(found.Message, part) })
	})
	text, err := json.Marshal(backup.Status)
	if err != nil {
		b.Fatal(err)
	}
	if strings.Contains(string(text), b.server.SecretKey) {
		b.Errorf("the status reveals the secret key: %s", text)
	}
	if backup.Status.Succeeded {
		b.Error("status.succeeded is true, although the backup failed")
	}
}

// fetchReported fetches the snapshot in the status and compares it with the status.
func (b *backupBench) fetchReported(backup *v1beta2.EtcdBackup, bucket connect.Access) proof.Fetched {
	b.Helper()
	reported := backup.Status.Snapshot
	if reported == nil {
		b.Fatalf("the status reports no snapshot:\n%s", kubetest.YAML(backup))
	}
	key := strings.TrimPrefix(reported.Path, bucket.Bucket+"/")
	fetched, err := proof.Fetch(b.Context(), open(b.T, bucket), key, proof.Alone(b.TempDir()), nil, snapshot.Anyone)
	if err != nil {
		b.Fatal(err)
	}
	switch {
	case fetched.Manifest == nil:
		b.Fatalf("the snapshot %s has no manifest", key)
	case reported.SHA256 != fetched.SHA256, reported.Size != fetched.Info.Size, reported.Revision != fetched.Info.Revision, reported.Keys != fetched.Info.Keys:
		b.Errorf("the status reports %+v, but the store has %+v", reported, fetched)
	case backup.Status.EtcdRevision != reported.Revision || backup.Status.EtcdVersion != reported.EtcdVersion || !backup.Status.Succeeded || backup.Status.LastSuccessDate == nil:
		b.Errorf("the status fields of the archived operator differ from status.snapshot:\n%s", kubetest.YAML(backup))
	}
	return fetched
}

// keys returns the keys of the objects with a prefix in the bench's bucket.
func (b *backupBench) keys(prefix string) []string {
	b.Helper()
	var keys []string
	for object, err := range open(b.T, b.bucket).List(b.Context(), prefix) {
		if err != nil {
			b.Fatal(err)
		}
		keys = append(keys, object.Key)
	}
	return keys
}

// cluster creates an EtcdCluster with a status, as cluster-operator does.
func (b *backupBench) cluster(name string, available metav1.ConditionStatus, etcd *servers.EtcdCluster) *v1beta2.EtcdCluster {
	b.Helper()
	cluster := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name},
		Spec:       v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"},
	}
	kubetest.Create(b, cluster)
	b.report(cluster, available, etcd)
	return cluster
}

func (b *backupBench) report(cluster *v1beta2.EtcdCluster, available metav1.ConditionStatus, etcd *servers.EtcdCluster) {
	b.Helper()
	cluster.Status.MemberStatuses = nil
	for _, member := range etcd.Members {
		cluster.Status.MemberStatuses = append(cluster.Status.MemberStatuses, v1beta2.MemberStatus{Name: member.Name, ClientURL: member.ClientURL})
	}
	meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
		Type: v1beta2.ConditionAvailable, Status: available, Reason: "Test", Message: "as the test says",
	})
	if err := kubetest.Client(b).Status().Update(b.Context(), cluster); err != nil {
		b.Fatal(err)
	}
}

func (b *backupBench) delete(object client.Object) {
	b.Helper()
	if err := kubetest.Client(b).Delete(b.Context(), object); err != nil {
		b.Fatal(err)
	}
	kubetest.AwaitGone(b, object)
}

// in runs one subtest on the bench.
func (b *backupBench) in(name string, test func(*backupBench)) {
	b.Run(name, func(t *testing.T) {
		inner := *b
		inner.T = t
		test(&inner)
	})
}
