package etcdflags

import (
	"os"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const crd = "../../charts/etcd-operator/files/crds/etcd.database.coreos.com_etcdclusters.yaml"

func spec(t *testing.T) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	raw, err := os.ReadFile(crd)
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &definition); err != nil {
		t.Fatal(err)
	}
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

// A variable that the API accepts and the operator leaves out does nothing, and its user does not notice.
func TestTheAPIRefusesEachFlagOfTheOperator(t *testing.T) {
	var have []Rule
	for _, rule := range spec(t).Properties["pod"].Properties["etcdEnv"].Items.Schema.XValidations {
		have = append(have, Rule{Rule: rule.Rule, Message: rule.Message})
	}
	for _, want := range Rules() {
		if !slices.Contains(have, want) {
			t.Errorf("PodPolicy.EtcdEnv needs this rule:\n\t%s", want.Marker())
		}
	}
	if len(have) != len(Rules()) {
		t.Errorf("the API has %d rules for a variable, and the table makes %d", len(have), len(Rules()))
	}
}

func TestTheAPIRefusesAnOptionInTwoPlaces(t *testing.T) {
	for _, f := range All() {
		if f.Field == "" {
			continue
		}
		if !slices.ContainsFunc(spec(t).XValidations, func(r apiextensionsv1.ValidationRule) bool {
			return strings.Contains(r.Rule, "self."+f.Field) && strings.Contains(r.Rule, "e.name == '"+f.Variable()+"'")
		}) {
			t.Errorf("EtcdClusterSpec has no rule that refuses spec.%s together with %s", f.Field, f.Variable())
		}
	}
}

func TestEachFlagHasOneOwnerAndOneFuture(t *testing.T) {
	if !slices.IsSortedFunc(flags, func(a, b Flag) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the table is not in the order of its names, in which it is searched")
	}
	for _, f := range All() {
		if f.Refused != nil && (f.Field != "" || f.Renamed != "" || f.Gate != "" || f.NoEffect) {
			t.Errorf("--%s is the operator's and the user's", f.Name)
		}
		if f.Renamed != "" && (f.Gate != "" || f.Last == "") {
			t.Errorf("--%s has another name and no end, or a feature gate, too", f.Name)
		}
		if next, ok := Of(VariableOf(f.Renamed)); f.Renamed != "" && (!ok || next.Refused != nil) {
			t.Errorf("--%s becomes --%s, which is no flag of users", f.Name, f.Renamed)
		}
		if got, ok := Of(f.Variable()); !ok || got != f {
			t.Errorf("%s is not found", f.Variable())
		}
	}
}

func TestAnOptionIsFoundUnderTheNameOfEachVersion(t *testing.T) {
	for _, test := range []struct{ variable, version, want string }{
		{"ETCD_EXPERIMENTAL_CORRUPT_CHECK_TIME", "3.4.37", "experimental-corrupt-check-time"},
		{"ETCD_EXPERIMENTAL_CORRUPT_CHECK_TIME", "3.6.16", "experimental-corrupt-check-time"},
		{"ETCD_EXPERIMENTAL_CORRUPT_CHECK_TIME", "3.7.3", "corrupt-check-time"},
		{"ETCD_EXPERIMENTAL_CORRUPT_CHECK_TIME", "3.8.0", "corrupt-check-time"},
		{"ETCD_CORRUPT_CHECK_TIME", "3.5.30", ""},
		{"ETCD_ENABLE_V2", "3.6.0", ""},
		{"ETCD_ENABLE_V2", "3.3.27", "enable-v2"},
		{"ETCD_QUOTA_BACKEND_BYTES", "unknown", "quota-backend-bytes"},
	} {
		f, ok := Of(test.variable)
		if got := f.NameIn(test.version); !ok || got != test.want {
			t.Errorf("%s in %s is %q, want %q", test.variable, test.version, got, test.want)
		}
	}
	if Gates("3.5.35") || !Gates("3.6.0-rc.1") || !Gates("3.7.3") {
		t.Error("feature gates exist since 3.6")
	}
}
