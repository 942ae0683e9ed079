package readme

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// wholes are types with one row for all of their fields, because no field of them alone reaches a node or another namespace. A field that
// Kubernetes adds to another type needs a row of its own.
var wholes = []reflect.Type{
	reflect.TypeFor[corev1.Affinity](), reflect.TypeFor[corev1.Toleration](), reflect.TypeFor[corev1.TopologySpreadConstraint](),
	reflect.TypeFor[corev1.ResourceRequirements](), reflect.TypeFor[corev1.VolumeResourceRequirements](), reflect.TypeFor[corev1.ContainerResizePolicy](),
	reflect.TypeFor[corev1.ContainerRestartRule](), reflect.TypeFor[corev1.EnvVar](), reflect.TypeFor[corev1.EnvFromSource](),
	reflect.TypeFor[corev1.VolumeMount](), reflect.TypeFor[corev1.VolumeDevice](), reflect.TypeFor[corev1.LocalObjectReference](),
	reflect.TypeFor[corev1.ConfigMapVolumeSource](), reflect.TypeFor[corev1.SecretVolumeSource](), reflect.TypeFor[corev1.EmptyDirVolumeSource](),
	reflect.TypeFor[corev1.CSIVolumeSource](), reflect.TypeFor[corev1.PersistentVolumeClaimVolumeSource](), reflect.TypeFor[corev1.TypedLocalObjectReference](),
	reflect.TypeFor[corev1.TypedObjectReference](), reflect.TypeFor[corev1.ExecAction](), reflect.TypeFor[corev1.GRPCAction](),
	reflect.TypeFor[corev1.HTTPHeader](), reflect.TypeFor[corev1.SleepAction](),
	reflect.TypeFor[networkingv1.NetworkPolicyPeer](), reflect.TypeFor[networkingv1.NetworkPolicyIngressRule](),
}

// reachesNothing are the fields that reach no other object of Kubernetes. Those of an EtcdBackup have only the first part of their path here.
var reachesNothing = []string{
	"paused", "hibernate", "readOnly", "auth.operatorSecret", "auth.enabled", "auth.removalPolicy", "auth.roles[].name",
	"auth.roles[].permissions[].access", "auth.roles[].permissions[].key", "auth.roles[].permissions[].prefix", "auth.roles[].permissions[].range.from",
	"auth.roles[].permissions[].range.to", "auth.users[].passwordSecret", "auth.users[].roles[]", "pod.DNSTimeoutInSecond", "pod.busyboxImage",
	"recovery.memberReplacementGrace", "recovery.foreignMemberGrace", "recovery.keepReplacedVolumes", "noSpace.action", "noSpace.keepRevisions",
	"defragmentation.schedule", "defragmentation.timeZone", "defragmentation.startingDeadlineSeconds", "defragmentation.freePercent", "defragmentation.minimumSize",

	"EtcdBackup.etcdCluster", "EtcdBackup.etcdEndpoints[]", "EtcdBackup.clientTLSSecret", "EtcdBackup.clientAuthSecret", "EtcdBackup.storageType",
	"EtcdBackup.backupPolicy", "EtcdBackup.compression", "EtcdBackup.encryption", "EtcdBackup.signing", "EtcdBackup.noQuorum", "EtcdBackup.verify",
	"EtcdBackup.drill", "EtcdBackup.deletionPolicy", "EtcdBackup.finalSnapshot", "EtcdBackup.copyTo", "EtcdBackup.continuous",
	"EtcdBackup.ttlSecondsAfterFinished", "EtcdBackup.s3", "EtcdBackup.gcs", "EtcdBackup.abs", "EtcdBackup.oss",

	"EtcdRestore.backupStorageType", "EtcdRestore.select.before", "EtcdRestore.select.revision", "EtcdRestore.select.time", "EtcdRestore.select.clusterID",
	"EtcdRestore.select.includeNoQuorum", "EtcdRestore.ttlSecondsAfterFinished", "EtcdRestore.replaces", "EtcdRestore.dryRun", "EtcdRestore.follow.promote",
	"EtcdRestore.safetySnapshot", "EtcdRestore.signing.publicKeys[]", "EtcdRestore.prefixes[]", "EtcdRestore.prune",
	// The fields for writing.
	"EtcdRestore.s3.serverSideEncryption.kmsKeyID", "EtcdRestore.s3.storageClass", "EtcdRestore.s3.objectLock.mode", "EtcdRestore.s3.objectLock.retainDays",
	"EtcdRestore.s3.objectLock.retainUntil", "EtcdRestore.s3.tags", "EtcdRestore.s3.checkBeforeWrite", "EtcdRestore.gcs.kmsKeyName", "EtcdRestore.gcs.storageClass",
}

// fieldRow is a row of the table of fields: the path, and who bounds it.
var fieldRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| (API|policy|operator|as a Pod): [^|]+ \\|$")

// A field that a new version of the API or of Kubernetes brings lets a user reach a node by an EtcdCluster, if it is passed on to a Pod and has
// no bound.
func TestEachFieldThatReachesAnObjectHasABound(t *testing.T) {
	bounds := fieldBounds(t)
	got := append(slices.Collect(maps.Keys(bounds)), reachesNothing...)
	want := everyField()
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-of the API +of the table in docs/security.md, and of reachesNothing). Bound a new field before you add its row:\n%s", diff)
	}
}

// The table promises a bound that no test tries.
func TestEachBoundOfTheAdmissionPolicyIsTried(t *testing.T) {
	tries, err := os.ReadFile("../chart/tenant_tries_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^\t"(pod\.[^"]+)":`).FindAllStringSubmatch(string(tries), -1) {
		tried[match[1]] = true
	}
	if len(tried) < 20 {
		t.Fatalf("found %d tries, so the test tests too little", len(tried))
	}
	bounds := fieldBounds(t)
	for path, by := range bounds {
		if by == "policy" && !tried[path] {
			t.Errorf("the table says that the policy bounds %s, and test/chart/tenant_tries_test.go has no try of it", path)
		}
	}
	for path := range tried {
		if by := bounds[path]; by != "policy" && by != "API" {
			t.Errorf("%s is refused, and the table says that its bound is %q", path, by)
		}
	}
}

// fieldBounds returns who bounds each field of the table.
func fieldBounds(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## What an EtcdCluster can put into a Pod\n")
	section, _, _ = strings.Cut(section, "\n## ")
	bounds := map[string]string{}
	for _, row := range fieldRow.FindAllStringSubmatch(section, -1) {
		if bounds[row[1]] != "" {
			t.Errorf("%s has two rows", row[1])
		}
		bounds[row[1]] = row[2]
	}
	if rows := strings.Count(section, "\n| `"); rows != len(bounds) || rows == 0 {
		t.Errorf("the table has %d rows, and %d of them name who bounds a field", rows, len(bounds))
	}
	return bounds
}

// everyField returns the paths of all fields of the three specs, sorted.
func everyField() []string {
	found := map[string]bool{}
	for _, path := range fieldsBelow(reflect.TypeFor[v1beta2.EtcdClusterSpec](), "") {
		if !strings.HasPrefix(path, "pod.initContainers[].") { // of the same type as pod.containers
			found[path] = true
		}
	}
	for _, path := range fieldsBelow(reflect.TypeFor[v1beta2.EtcdRestoreSpec](), "EtcdRestore.") {
		found[path] = true
	}
	for _, path := range fieldsBelow(reflect.TypeFor[v1beta2.EtcdBackupSpec](), "") {
		first, _, _ := strings.Cut(path, ".")
		found["EtcdBackup."+first] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// fieldsBelow returns the paths of the fields below a struct, in JSON.
func fieldsBelow(in reflect.Type, prefix string) []string {
	var paths []string
	for i := range in.NumField() {
		field := in.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner, path := field.Type, prefix+name
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			if inner.Kind() == reflect.Slice {
				path += "[]"
			}
			inner = inner.Elem()
		}
		described := strings.HasSuffix(inner.PkgPath(), "/v1beta2") || strings.HasPrefix(inner.PkgPath(), "k8s.io/api/")
		switch {
		case name == "":
			paths = append(paths, fieldsBelow(inner, prefix)...)
		case inner.Kind() == reflect.Struct && described && !slices.Contains(wholes, inner):
			paths = append(paths, fieldsBelow(inner, path+".")...)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}
