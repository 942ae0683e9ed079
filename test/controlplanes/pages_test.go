package controlplanes

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	"sigs.k8s.io/yaml"
)

// ours is the API of this project. A test of test/integration asks an API server about its manifests.
const ours = "etcd.database.coreos.com/v1beta2"

var block = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// manifest is an object that a page has, or values of a chart.
type manifest struct{ page, kind, apiVersion, text string }

func manifests(t *testing.T) []manifest {
	t.Helper()
	pages, err := filepath.Glob("../../docs/control-planes-*.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []manifest
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range block.FindAllStringSubmatch(string(text), -1) {
			for _, document := range strings.Split(found[1], "\n---\n") {
				var head struct{ APIVersion, Kind string }
				if err := yaml.Unmarshal([]byte(document), &head); err != nil {
					t.Errorf("%s: %v\n%s", page, err, document)
				}
				all = append(all, manifest{page: filepath.Base(page), kind: head.Kind, apiVersion: head.APIVersion, text: document})
			}
		}
	}
	return all
}

// A platform copies a manifest from a page, and its API server refuses the manifest. Or it drops a field with a wrong name, and the control plane then starts
// without the certificate, on the prefix of another one.
func TestManifestsOfControlPlanesFitTheFormatsOfTheirTypes(t *testing.T) {
	checked := map[string]int{}
	for _, m := range manifests(t) {
		if m.apiVersion == ours {
			continue
		}
		if err := check(m); err != nil {
			t.Errorf("%s: %v\n%s", m.page, err, m.text)
		}
		checked[m.page]++
	}
	for _, program := range []string{"kamaji", "k0smotron", "vcluster", "hypershift", "cluster-api"} {
		if page := "control-planes-" + program + ".md"; checked[page] == 0 {
			t.Errorf("%s has no manifest", page)
		}
	}
}

// check returns why a manifest does not have the format of its type.
func check(m manifest) error {
	if m.kind == "KubeadmControlPlane" {
		return yaml.UnmarshalStrict([]byte(m.text), &controlplanev1.KubeadmControlPlane{})
	}
	name := m.kind
	if name == "" {
		name = "values"
	}
	schema, err := format(name)
	if err != nil {
		return err
	}
	text, err := yaml.YAMLToJSONStrict([]byte(m.text))
	if err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(document)
}

// format is the schema of a kind.
func format(kind string) (*jsonschema.Schema, error) {
	text, err := os.ReadFile(filepath.Join("formats", kind+".yaml"))
	if err != nil {
		return nil, err
	}
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(kind, document); err != nil {
		return nil, err
	}
	return compiler.Compile(kind)
}

// A schema that accepts each field would find no mistake in a page.
func TestAWrongFieldIsFoundInEachManifest(t *testing.T) {
	for _, m := range manifests(t) {
		if m.apiVersion == ours {
			continue
		}
		var object map[string]any
		if err := yaml.Unmarshal([]byte(m.text), &object); err != nil {
			t.Fatal(err)
		}
		for path, inner := range maps(object, "") {
			if strings.HasSuffix(path, "labels") || strings.HasSuffix(path, "metadata") || strings.HasSuffix(path, "api/extraArgs") {
				continue // these hold what a user likes
			}
			inner["misspelled"] = map[string]any{}
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			delete(inner, "misspelled")
			if check(manifest{kind: m.kind, text: string(text)}) == nil {
				t.Errorf("%s: a wrong field of %s%s is not found", m.page, m.kind, path)
			}
		}
	}
}

// maps are all objects in a value, by their paths.
func maps(value any, path string) map[string]map[string]any {
	found := map[string]map[string]any{}
	add := func(inner any, path string) {
		for at, object := range maps(inner, path) {
			found[at] = object
		}
	}
	switch value := value.(type) {
	case map[string]any:
		found[path] = value
		for key, inner := range value {
			add(inner, path+"/"+key)
		}
	case []any:
		for _, inner := range value {
			add(inner, path)
		}
	}
	return found
}

// kubeadm takes another field for the certificate than the page has, and starts an etcd of its own.
func TestTheConfigurationOfKubeadmFitsItsType(t *testing.T) {
	text, err := os.ReadFile("../../docs/control-planes.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^    etcd:\n      external:\n(?:        .*\n)+`).FindString(string(text))
	var configuration bootstrapv1.ClusterConfiguration
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll("\n"+found, "\n    ", "\n")), &configuration); err != nil {
		t.Fatal(err)
	}
	external := configuration.Etcd.External
	if len(external.Endpoints) == 0 || external.CAFile == "" || external.CertFile == "" || external.KeyFile == "" {
		t.Errorf("the page has %+v", external)
	}
}
