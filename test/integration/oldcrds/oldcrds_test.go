package oldcrds

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// kinds are those of the archived operator, as version 0.9.4 named them.
var kinds = map[string]string{
	"etcdclusters": "{kind: EtcdCluster, listKind: EtcdClusterList, plural: etcdclusters, singular: etcdcluster, shortNames: [etcd]}",
	"etcdbackups":  "{kind: EtcdBackup, listKind: EtcdBackupList, plural: etcdbackups, singular: etcdbackup}",
	"etcdrestores": "{kind: EtcdRestore, listKind: EtcdRestoreList, plural: etcdrestores, singular: etcdrestore}",
}

// bornAsV1beta1 is a CRD that the archived operator created with apiextensions v1beta1, as etcd stores it since then. No API
// server accepts it today. Such a CRD has no schema, and preserves unknown fields.
func bornAsV1beta1(t *testing.T, plural string) *unstructured.Unstructured {
	t.Helper()
	text := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: %s.etcd.database.coreos.com}
spec:
  group: etcd.database.coreos.com
  version: v1beta2
  versions: [{name: v1beta2, served: true, storage: true}]
  scope: Namespaced
  names: %s
  conversion: {strategy: None}
  preserveUnknownFields: true
status:
  acceptedNames: %[2]s
  storedVersions: [v1beta2]
  conditions:
  - {type: NamesAccepted, status: "True", reason: NoConflicts, message: no conflicts found, lastTransitionTime: "2019-01-01T00:00:00Z"}
  - {type: Established, status: "True", reason: InitialNamesAccepted, message: the initial names have been accepted, lastTransitionTime: "2019-01-01T00:00:05Z"}
`, plural, kinds[plural])
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &crd.Object); err != nil {
		t.Fatal(err)
	}
	return crd
}

// install replaces the CRDs of the server by those of the archived operator, in etcd.
func install(t *testing.T) {
	t.Helper()
	for plural := range kinds {
		name := plural + ".etcd.database.coreos.com"
		kubetest.Store(t, "customresourcedefinitions", bornAsV1beta1(t, plural))
		awaitCRD(t, name, "have no schema", func(crd *unstructured.Unstructured) bool {
			return preserves(crd) && established(crd)
		})
	}
}

func awaitCRD(t *testing.T, name, what string, met func(*unstructured.Unstructured) bool) {
	t.Helper()
	kubetest.Eventually(t, "the CRD "+name+" to "+what, func(context.Context) error {
		text, err := kubetest.Kubectl(t, "", "get", "crd", name, "-o", "yaml")
		if err != nil {
			return err
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &crd.Object); err != nil {
			return err
		}
		if !met(crd) {
			return errors.New(text[:min(len(text), 1000)])
		}
		return nil
	})
}

func preserves(crd *unstructured.Unstructured) bool {
	preserves, _, _ := unstructured.NestedBool(crd.Object, "spec", "preserveUnknownFields")
	return preserves
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}

func TestTheCRDsReplaceThoseOfTheArchivedOperator(t *testing.T) {
	dir := filepath.Join(kubetest.Root(t), kubetest.CRDs)
	for name, command := range map[string][]string{
		"by kubectl apply":               {"apply", "-f", dir},
		"by kubectl apply --server-side": {"apply", "--server-side", "--force-conflicts", "-f", dir},
		"by kubectl replace":             {"replace", "-f", dir},
	} {
		t.Run(name, func(t *testing.T) {
			install(t)
			kubetest.MustKubectl(t, "", command...)
			awaitSchemas(t)
		})
	}
}

const finished = `
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: example}
spec: {size: 3, version: 3.2.13, repository: quay.io/coreos/etcd}
status: {phase: Running, size: 3, currentVersion: 3.2.13}
---
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdRestore
metadata: {name: example}
spec:
  etcdCluster: {name: example}
  backupStorageType: S3
  s3: {path: bucket/etcd.backup, awsSecret: aws}
status: {succeeded: true}
`

// TestARestoreThatTheArchivedOperatorFinishedDoesNothing upgrades from its CRDs with its objects.
func TestARestoreThatTheArchivedOperatorFinishedDoesNothing(t *testing.T) {
	install(t)
	namespace := kubetest.Namespace(t)
	kubetest.MustKubectl(t, finished, "create", "-n", namespace, "-f", "-")
	if got := kubetest.MustKubectl(t, "", "get", "etcdrestores.etcd.database.coreos.com", "example", "-n", namespace, "-o", "jsonpath={.status}"); strings.TrimSpace(got) != `{"succeeded":true}` {
		t.Fatalf("the old CRD stores the status %s", got)
	}
	kubetest.MustKubectl(t, "", "apply", "-f", filepath.Join(kubetest.Root(t), kubetest.CRDs))
	awaitSchemas(t)
	theRestoreDoesNothing(t, namespace)
}

// awaitSchemas waits until all CRDs are those of this suite.
func awaitSchemas(t *testing.T) {
	t.Helper()
	for plural := range kinds {
		awaitCRD(t, plural+".etcd.database.coreos.com", "have a schema", func(crd *unstructured.Unstructured) bool {
			return !preserves(crd) && established(crd)
		})
	}
}

// theRestoreDoesNothing runs restore-operator until the old EtcdRestore is reported as finished.
func theRestoreDoesNothing(t *testing.T, namespace string) {
	t.Helper()
	kubetest.RunManager(t, namespace, func(_ context.Context, mgr manager.Manager) error {
		prove := func(context.Context, restore.Asked) (restore.Found, error) {
			t.Error("the snapshot of a finished restore was read")
			return restore.Found{}, errors.New("not here")
		}
		return restore.Setup(mgr, restore.Options{Prove: prove, MaxProofs: 1, Metrics: prometheus.NewRegistry()})
	})
	r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example"}}
	kubetest.Await(t, r, "be Complete", func(r *v1beta2.EtcdRestore) bool {
		return meta.IsStatusConditionTrue(r.Status.Conditions, v1beta2.ConditionComplete)
	})
	if !r.Status.Succeeded || r.Status.Source != nil || r.Status.Attempts != 0 || meta.IsStatusConditionTrue(r.Status.Conditions, v1beta2.ConditionVerified) {
		t.Errorf("cluster-operator may act on the old restore:\n%s", kubetest.YAML(r))
	}
}
