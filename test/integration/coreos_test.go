package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// coreosFields are all fields of the specs of coreos/etcd-operator v0.9.4, except
// those inside of Kubernetes' own types.
var coreosFields = map[string][]string{
	"EtcdCluster": {
		"size", "repository", "version", "paused",
		"pod.labels", "pod.annotations", "pod.nodeSelector", "pod.affinity", "pod.antiAffinity", "pod.tolerations",
		"pod.resources", "pod.etcdEnv", "pod.persistentVolumeClaimSpec", "pod.busyboxImage", "pod.securityContext",
		"pod.DNSTimeoutInSecond", "pod.ClusterDomain",
		"TLS.static.member.peerSecret", "TLS.static.member.serverSecret", "TLS.static.operatorSecret",
	},
	"EtcdBackup": {
		"etcdEndpoints", "clientTLSSecret", "storageType",
		"backupPolicy.timeoutInSecond", "backupPolicy.backupIntervalInSecond", "backupPolicy.maxBackups",
		"s3.path", "s3.awsSecret", "s3.endpoint", "s3.forcePathStyle", "gcs.path", "gcs.gcpSecret",
		"abs.path", "abs.absSecret", "oss.path", "oss.ossSecret", "oss.endpoint",
	},
	"EtcdRestore": {
		"etcdCluster.name", "backupStorageType",
		"s3.path", "s3.awsSecret", "s3.endpoint", "s3.forcePathStyle", "gcs.path", "gcs.gcpSecret",
		"abs.path", "abs.absSecret", "oss.path", "oss.ossSecret", "oss.endpoint",
	},
}

func TestManifestsOfTheArchivedOperatorApplyUnchanged(t *testing.T) {
	for path, manifest := range manifests(t, "testdata/coreos/*.yaml") {
		t.Run(filepath.Base(path)+" can be applied and keeps all of its fields", func(t *testing.T) {
			namespace := kubetest.Namespace(t)
			kubetest.MustKubectl(t, "", "apply", "-n", namespace, "-f", path)
			stored := manifest.DeepCopy()
			key := client.ObjectKey{Namespace: namespace, Name: manifest.GetName()}
			if err := kubetest.Client(t).Get(t.Context(), key, stored); err != nil {
				t.Fatal(err)
			}
			for _, lost := range missing("spec", manifest.Object["spec"], stored.Object["spec"]) {
				t.Error(lost)
			}
			kubetest.MustKubectl(t, "", "apply", "-n", namespace, "-f", path)
			again := manifest.DeepCopy()
			if err := kubetest.Client(t).Get(t.Context(), key, again); err != nil {
				t.Fatal(err)
			}
			if again.GetGeneration() != stored.GetGeneration() {
				t.Errorf("a second apply changed the generation to %d, want %d", again.GetGeneration(), stored.GetGeneration())
			}
		})
	}
}

func TestManifestsOfTheArchivedOperatorCoverEveryField(t *testing.T) {
	seen := map[string][]string{}
	for _, manifest := range manifests(t, "testdata/coreos/*.yaml") {
		for _, field := range coreosFields[manifest.GetKind()] {
			value, found, err := unstructured.NestedFieldNoCopy(manifest.Object, strings.Split("spec."+field, ".")...)
			if err == nil && found && value != "" {
				seen[manifest.GetKind()] = append(seen[manifest.GetKind()], field)
			}
		}
	}
	for kind, fields := range coreosFields {
		for _, field := range fields {
			if !slices.Contains(seen[kind], field) {
				t.Errorf("no manifest in testdata/coreos has the field spec.%s of %s", field, kind)
			}
		}
	}
}

// manifests reads the matching files and returns their objects by path. Each file has one object.
func manifests(t *testing.T, pattern string) map[string]*unstructured.Unstructured {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s (%v)", pattern, err)
	}
	objects := make(map[string]*unstructured.Unstructured, len(paths))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &object.Object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		objects[path] = object
	}
	return objects
}

// missing lists the fields of want that got lacks or that differ. It ignores further
// fields of got, such as defaults.
func missing(at string, want, got any) []string {
	var lost []string
	switch want := want.(type) {
	case map[string]any:
		got, _ := got.(map[string]any)
		for key, value := range want {
			lost = append(lost, missing(at+"."+key, value, got[key])...)
		}
	case []any:
		got, _ := got.([]any)
		if len(got) != len(want) {
			return []string{fmt.Sprintf("%s has %d items, want %d", at, len(got), len(want))}
		}
		for i, value := range want {
			lost = append(lost, missing(fmt.Sprintf("%s[%d]", at, i), value, got[i])...)
		}
	default:
		// The YAML decoder returns whole numbers as float64, the client as int64.
		if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); diff != "" {
			lost = append(lost, fmt.Sprintf("%s (-want +got): %s", at, diff))
		}
	}
	return lost
}
