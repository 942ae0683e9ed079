package metadata

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func labels(pairs ...string) Given {
	g := Given{Labels: map[string]string{}}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		g.Labels[key] = value
	}
	return g
}

func TestAnObjectGetsWhatTheSpecAsksForAndKeepsWhatOthersSet(t *testing.T) {
	for name, test := range map[string]struct {
		before, after, others Given
		has, want             map[string]string
	}{
		"an entry is added": {Given{}, labels("team=a"), Given{}, map[string]string{"x": "1"}, map[string]string{"x": "1", "team": "a"}},
		"a value changes":   {labels("team=a"), labels("team=b"), Given{}, map[string]string{"team": "a", "x": "1"}, map[string]string{"team": "b", "x": "1"}},
		"an entry that was removed from the spec is removed":     {labels("team=a", "cost=1"), labels("cost=1"), Given{}, map[string]string{"team": "a", "cost": "1"}, map[string]string{"cost": "1"}},
		"all entries are removed":                                {labels("team=a"), Given{}, Given{}, map[string]string{"team": "a", "x": "1"}, map[string]string{"x": "1"}},
		"a label of others with the key of no entry is kept":     {labels("team=a"), labels("team=a"), Given{}, map[string]string{"team": "a", "cost": "2"}, map[string]string{"team": "a", "cost": "2"}},
		"an entry that another setting took over is kept":        {labels("team=a"), Given{}, labels("team=b"), map[string]string{"team": "b"}, map[string]string{"team": "b"}},
		"a record that somebody forged removes no operators key": {labels("etcd_cluster=c", "app=etcd"), Given{}, Given{}, map[string]string{"etcd_cluster": "c", "app": "etcd"}, map[string]string{"etcd_cluster": "c", "app": "etcd"}},
	} {
		object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: test.has, Annotations: map[string]string{"other": "1"}}}
		if text := test.before.Text(); text != "" {
			object.Annotations[Annotation] = text
		}
		test.after.Update(object, test.others)
		if diff := cmp.Diff(test.want, object.Labels); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", name, diff)
		}
		if test.after.Due(object) || object.Annotations["other"] != "1" {
			t.Errorf("%s: the annotations are %v", name, object.Annotations)
		}
		if _, has := object.Annotations[Annotation]; has != (test.after.Text() != "") {
			t.Errorf("%s: the record is %q", name, object.Annotations[Annotation])
		}
	}
}

func TestANewObjectKeepsItsOwnLabels(t *testing.T) {
	object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "etcd"}}}
	given := labels("app=mine", "team=a")
	given.Stamp(object)
	if diff := cmp.Diff(map[string]string{"app": "etcd", "team": "a"}, object.Labels); diff != "" || given.Due(object) {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	bare := &corev1.Service{}
	if (Given{}).Stamp(bare); bare.Labels != nil || bare.Annotations != nil || (Given{}).Due(bare) {
		t.Errorf("an object of a cluster without spec.metadata got %v, %v", bare.Labels, bare.Annotations)
	}
}

func TestARecordThatCannotBeReadCountsAsNone(t *testing.T) {
	object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{Annotation: "{"}}}
	if !(Given{}).Due(object) {
		t.Error("a record that cannot be read stays")
	}
	if (Given{}).Update(object, Given{}); len(object.Annotations) != 0 {
		t.Errorf("the annotations are %v", object.Annotations)
	}
}

// The API refuses these keys. The operator removes none of them, whatever the record of an object says.
func TestTheOperatorAndTheAPIReserveTheSameKeys(t *testing.T) {
	domains := strings.Count(policySource(t), "!key.matches('"+reservedDomain.String()+"')")
	if domains != 2 {
		t.Errorf("%d rules of the API have the domains %s, want 2", domains, reservedDomain)
	}
	for key, reserved := range map[string]bool{
		"app": true, "etcd_cluster": true, "etcd_node": true, "etcd.version": true,
		v1beta2.LabelIncarnation: true, Annotation: true, "x.etcd.database.coreos.com/y": true, "kubernetes.io/metadata.name": true,
		"topology.kubernetes.io/zone": true, "pod-security.kubernetes.io/enforce": true, "k8s.io/x": true, "node.k8s.io/x": true,
		"cert-manager.io/issuer": true, "acme.cert-manager.io/http01": true, "kubectl.kubernetes.io/restartedAt": true,
		"app.kubernetes.io/name": false, "app.kubernetes.io/part-of": false, "example.com/team": false, "team": false, "application": false,
		"mykubernetes.io/x": false, "kubernetes.io": false,
	} {
		if Reserved(key) != reserved {
			t.Errorf("reserved %s: %t, want %t", key, !reserved, reserved)
		}
	}
}

// A record that is longer is not kept in the cache, and would be written again in each pass.
func TestTheRecordOfAllThatTheAPIAcceptsIsKept(t *testing.T) {
	key := func(i int) string {
		return strings.Repeat("d", 253) + "/" + strings.Repeat("n", 60) + string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	full := Given{Labels: map[string]string{}, Annotations: map[string]string{}}
	for i := range 32 {
		full.Labels[key(i)] = strings.Repeat("v", 63)
		full.Annotations[key(i)] = strings.Repeat("<", 512) // six bytes each in JSON
	}
	if size := len(full.Text()); size > MaxRecord {
		t.Errorf("the record has %d bytes, and the limit is %d", size, MaxRecord)
	}
	if got := regexp.MustCompile(`Max(Properties|Length)=\d+`).FindAllString(policySource(t), -1); cmp.Diff([]string{"MaxProperties=32", "MaxProperties=32", "MaxLength=63", "MaxLength=512"}, got) != "" {
		t.Errorf("the limits of the API are %v. Adapt this test and MaxRecord", got)
	}
}

// The tests of cluster-operator and restore-operator say that these objects get spec.metadata.
func TestOnlyTheSecretOfASeedIsCreatedByAnotherOperator(t *testing.T) {
	for operator, want := range map[string][]string{"backup-operator": nil, "restore-operator": {"secrets"}} {
		chart, err := os.ReadFile("../../charts/etcd-operator/templates/" + operator + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var created []string
		for _, rule := range regexp.MustCompile(`resources: \[(.*)\]\n\s+verbs: \[(.*)\]`).FindAllStringSubmatch(string(chart), -1) {
			if strings.Contains(rule[2], "create") {
				created = append(created, rule[1])
			}
		}
		if diff := cmp.Diff(want, created); diff != "" {
			t.Errorf("%s may create (-want +got):\n%s\nGive new objects of a cluster spec.metadata", operator, diff)
		}
	}
}

// policySource returns the source of MetadataPolicy and of the types of its fields.
func policySource(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("../../api/v1beta2/policies.go")
	if err != nil {
		t.Fatal(err)
	}
	_, from, found := strings.Cut(string(source), "type MetadataPolicy struct")
	policy, _, ends := strings.Cut(from, "type AnnotationValue string")
	if !found || !ends {
		t.Fatal("MetadataPolicy and AnnotationValue are not in policies.go in this order")
	}
	return policy
}
