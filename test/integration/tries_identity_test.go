package integration

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// platform allows each namespace its own prefix of the bucket "backups".
func platform() grant.List {
	return grant.List{{Namespaces: []string{grant.All}, PathPrefix: "backups/{namespace}/"}}
}

// ownIdentityOf gives this process the identity of the operators at the server.
func ownIdentityOf(t *testing.T, server *servers.S3Server) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
}

// A tenant uses the operator's own identity for the snapshots of others. The manual lists these tries (docs/security.md).
func TestTriesOfTheOperatorsOwnIdentity(t *testing.T) {
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	b := newBackupBenchWith(t, platform())
	ownIdentityOf(t, b.server)
	own := "backups/" + b.namespace
	series := func(backup *v1beta2.EtcdBackup) {
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: "0 3 1 1 *"} // the status says it long before a snapshot is due
	}
	withSecret := func(backup *v1beta2.EtcdBackup) { backup.Spec.S3.AWSSecret = "aws" }
	atVictim := func(backup *v1beta2.EtcdBackup) { backup.Spec.S3.Endpoint = b.server.Endpoint + "/backups/victim" }
	for name, try := range map[string]struct {
		path   string
		change func(*v1beta2.EtcdBackup)
		reason string
	}{
		"saves below the prefix of another namespace": {"backups/victim/x.db", nil, v1beta2.ReasonOwnIdentityNotAllowed},
		"saves a series there":                        {"backups/victim/daily", series, v1beta2.ReasonOwnIdentityNotAllowed},
		"saves under a name that begins alike":        {own + "x/one.db", nil, v1beta2.ReasonOwnIdentityNotAllowed},
		"leads the path up":                           {own + "/.../victim/x.db", nil, v1beta2.ReasonOwnIdentityNotAllowed},
		"saves there with a Secret":                   {"backups/victim/y.db", withSecret, v1beta2.ReasonPathNotAllowed},
		"saves there by the path of an endpoint":      {own + "/one.db", atVictim, v1beta2.ReasonOwnIdentityNotAllowed},
		"saves there by such a path with a Secret":    {own + "/one.db", func(backup *v1beta2.EtcdBackup) { atVictim(backup); withSecret(backup) }, v1beta2.ReasonPathNotAllowed},
	} {
		b.in(name, func(b *backupBench) {
			backup := b.backup(strings.ReplaceAll(name, " ", "-"), try.path, etcd.Endpoints()...)
			backup.Name, backup.Spec.S3.AWSSecret = strings.ToLower(backup.Name), ""
			if try.change != nil {
				try.change(backup)
			}
			kubetest.Create(b, backup)
			b.fails(backup, try.reason, "backupOperator.ownIdentity", own+"/")
			if !meta.IsStatusConditionTrue(backup.Status.Conditions, v1beta2.ConditionStalled) {
				b.Error("it does not say that a person must act")
			}
		})
	}
	for name, change := range map[string]func(*v1beta2.S3Source){
		"copies below the prefix of another namespace": func(second *v1beta2.S3Source) { second.Path = "backups/victim/copies" },
		"copies there by the path of an endpoint": func(second *v1beta2.S3Source) {
			second.Path, second.Endpoint = own+"/copies", b.server.Endpoint+"/backups/victim"
		},
	} {
		b.in(name, func(b *backupBench) {
			backup := b.backup(strings.ReplaceAll(name, " ", "-"), own+"/"+strings.Fields(name)[1], etcd.Endpoints()...)
			backup.Spec.S3.AWSSecret, backup.Annotations = "", map[string]string{v1beta2.AnnotationBackupNow: "1"}
			series(backup)
			second := *backup.Spec.S3.DeepCopy()
			change(&second)
			backup.Spec.CopyTo = &v1beta2.CopyTarget{StorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &second}}
			kubetest.Create(b, backup)
			kubetest.Await(b, backup, "report the second location", func(backup *v1beta2.EtcdBackup) bool {
				copied := meta.FindStatusCondition(backup.Status.Conditions, v1beta2.ConditionCopied)
				return copied != nil && copied.Reason == v1beta2.ReasonOwnIdentityNotAllowed && backup.Status.Snapshot != nil
			})
		})
	}
	for _, key := range b.keys("") {
		if !strings.HasPrefix(key, b.namespace+"/") {
			t.Errorf("the tenant has written %s", key)
		}
	}
	saved := b.backup("allowed", own+"/allowed.db", etcd.Endpoints()...)
	saved.Spec.S3.AWSSecret = ""
	kubetest.Create(b, saved)
	b.ready(saved, "True", v1beta2.ReasonComplete) // the tries did not fail for another reason
}

// An installation that has no list refuses what it did before the upgrade.
func TestTriesOfTheOperatorsOwnIdentityWithoutAList(t *testing.T) {
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	b := newBackupBenchWith(t, nil)
	ownIdentityOf(t, b.server)
	b.in("saves without an entry", func(b *backupBench) {
		backup := b.backup("without", "backups/x.db", etcd.Endpoints()...)
		backup.Spec.S3.AWSSecret = ""
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonOwnIdentityNotAllowed, "backupOperator.ownIdentity", "no entry")
	})
	if keys := b.keys(""); len(keys) > 0 {
		t.Errorf("the bucket has %v", keys)
	}
	with := b.backup("with", "backups/x.db", etcd.Endpoints()...)
	kubetest.Create(b, with)
	b.ready(with, "True", v1beta2.ReasonComplete) // a Secret needs no entry
}

// A tenant restores the snapshots of others.
func TestTriesOfTheOperatorsOwnIdentityInARestore(t *testing.T) {
	b := newRestoreBenchWith(t, platform())
	ownIdentityOf(t, b.server)
	content := etcdctlSnapshot(t, "3.6")
	victims := b.putManifest(b.put("victim/one.db", content), manifestOf(content))
	own := b.put(b.namespace+"/one.db", content)
	b.cluster("example", "3.6.16")
	for name, try := range map[string]struct {
		path, secret string
		selects      *v1beta2.SnapshotSelector
		folder       string // the path of the endpoint
		reason       string
	}{
		"restores a snapshot of another namespace": {victims, "", nil, "", v1beta2.ReasonOwnIdentityNotAllowed},
		"lists the whole bucket":                   {"backups/", "", &v1beta2.SnapshotSelector{}, "", v1beta2.ReasonOwnIdentityNotAllowed},
		"restores it with a Secret":                {victims, "aws", nil, "", v1beta2.ReasonPathNotAllowed},
		"restores by the path of an endpoint":      {own, "", nil, "/backups/victim", v1beta2.ReasonOwnIdentityNotAllowed},
		"restores an own one":                      {own, "", nil, "", v1beta2.ReasonVerified},
	} {
		restore := b.restore(strings.ToLower(strings.ReplaceAll(name, " ", "-")), try.path)
		restore.Spec.S3.Endpoint += try.folder
		restore.Spec.S3.AWSSecret, restore.Spec.Select = try.secret, try.selects
		kubetest.Create(t, restore)
		b.await(restore, try.reason)
		if try.reason != v1beta2.ReasonVerified && (restore.Status.Snapshot != nil || !strings.Contains(restore.Status.Reason, "restoreOperator.ownIdentity")) {
			t.Errorf("%s: %+v", name, restore.Status)
		}
	}
}
