package chart

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

const clusterChartDir = "../../charts/etcd-cluster"

const fullValues = `
labels: {team: payments}
annotations: {example.com/owner: payments}
cluster:
  spec:
    size: 5
    version: "3.5.21"
    TLS: {managed: null, static: {member: {peerSecret: peer, serverSecret: server}, operatorSecret: operator}}
backups:
  nightly:
    storageType: S3
    backupPolicy: {schedule: "0 3 * * *", maxBackups: 14}
    s3: {path: bucket/etcd, awsSecret: s3-credentials}
restores:
  first:
    backupStorageType: S3
    s3: {path: bucket/etcd/other/example, awsSecret: s3-credentials}
    select: {}
extraObjects:
  - apiVersion: v1
    kind: Secret
    metadata: {name: "{{ .Release.Name }}-credentials"}
`

// A platform team gives each application one release with its cluster, its backups and the restore that it begins with. What Helm renders must be
// accepted as it is, and no change of the release may delete the data.
func TestTheChartOfOneClusterIsAccepted(t *testing.T) {
	s, namespace := newSite(t), kubetest.Namespace(t)
	s.helm(t, "upgrade", "--install", releaseName, chartDir, "--namespace", namespace, "--wait=hookOnly")
	kubetest.MustKubectl(t, "", "wait", "customresourcedefinitions", "--all", "--for=condition=Established", "--timeout=60s")
	get := func(name string, object interface{ GetLabels() map[string]string }) error {
		switch object := object.(type) {
		case *v1beta2.EtcdCluster:
			return kubetest.Client(t).Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object)
		case *v1beta2.EtcdBackup:
			return kubetest.Client(t).Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object)
		case *v1beta2.EtcdRestore:
			return kubetest.Client(t).Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object)
		}
		return nil
	}
	install := func(name, values string) string {
		out, err := helm(t, values, "upgrade", "--install", name, clusterChartDir, "--namespace", namespace, "--values", "-", "--wait=hookOnly", "--kubeconfig", s.kubeconfig)
		if err != nil {
			t.Fatalf("helm: %v\n%s", err, out)
		}
		return out
	}
	t.Run("without values", func(t *testing.T) {
		notes := install("plain", "{}")
		var cluster v1beta2.EtcdCluster
		if err := get("plain", &cluster); err != nil || cluster.Spec.Size != 3 || cluster.Spec.TLS == nil || cluster.Spec.TLS.Managed == nil {
			t.Errorf("%+v, %v", cluster.Spec, err)
		}
		if !strings.Contains(notes, "This cluster has no backups") || !strings.Contains(notes, "https://plain-client."+namespace+".svc:2379") {
			t.Errorf("the notes are\n%s", notes)
		}
	})
	t.Run("with backups and a restore", func(t *testing.T) {
		install("full", fullValues)
		var cluster v1beta2.EtcdCluster
		var backup v1beta2.EtcdBackup
		var restore v1beta2.EtcdRestore
		for name, object := range map[string]interface{ GetLabels() map[string]string }{"full": &cluster, "full-nightly": &backup, "full-first": &restore} {
			if err := get(name, object); err != nil || object.GetLabels()["team"] != "payments" {
				t.Errorf("%s has the labels %v: %v", name, object.GetLabels(), err)
			}
		}
		if cluster.Spec.Size != 5 || cluster.Spec.TLS.Static == nil || backup.Spec.EtcdCluster.Name != "full" || restore.Spec.EtcdCluster.Name != "full" {
			t.Errorf("%+v\n%+v\n%+v", cluster.Spec, backup.Spec, restore.Spec)
		}
		if cluster.Annotations["example.com/owner"] != "payments" || cluster.Annotations["helm.sh/resource-policy"] != "keep" || restore.Annotations["helm.sh/resource-policy"] != "" {
			t.Errorf("%v, %v", cluster.Annotations, restore.Annotations)
		}
	})
	t.Run("helm uninstall keeps the data", func(t *testing.T) {
		s.helm(t, "uninstall", "full", "--namespace", namespace)
		var cluster v1beta2.EtcdCluster
		if err := get("full", &cluster); err != nil || cluster.DeletionTimestamp != nil {
			t.Errorf("the EtcdCluster is gone: %v", err)
		}
		if err := get("full-nightly", &v1beta2.EtcdBackup{}); !apierrors.IsNotFound(err) {
			t.Errorf("the EtcdBackup: %v", err)
		}
	})
}

// A mistyped value would be ignored, for example a cluster without the backups that somebody relies on.
func TestTheChartOfOneClusterRefusesUnknownValues(t *testing.T) {
	for _, values := range []string{"backup: {}", "cluster: {size: 3}", "backups: {nightly: {metadata: {name: x}}}", "cluster: {spec: {size: null}}"} {
		if out, err := helm(t, values, "template", "x", clusterChartDir, "--values", "-"); err == nil {
			t.Errorf("%s is accepted:\n%s", values, out)
		}
	}
}
