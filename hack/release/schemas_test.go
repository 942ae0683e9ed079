package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// schemaOf returns the schema of an object that a file of the release has.
func schemaOf(t *testing.T, files map[string]string, object map[string]any) *jsonschema.Schema {
	t.Helper()
	kind, _ := object["kind"].(string)
	apiVersion, _ := object["apiVersion"].(string)
	_, version, _ := strings.Cut(apiVersion, "/")
	name := strings.ToLower(kind) + "_" + version + ".json"
	text, found := files[name]
	if !found {
		return nil
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// valid returns what a schema says of an object.
func valid(t *testing.T, schema *jsonschema.Schema, object any) error {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(document)
}

// An editor that reads the schemas marked correct manifests as wrong, or said nothing of a misspelled field, which the API server drops.
func TestTheSchemasAcceptTheExamplesAndNoMisspelledField(t *testing.T) {
	_, files := rendered(t)
	paths, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d examples, error %v", len(paths), err)
	}
	checked := map[string]int{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all, err := parse(strings.ReplaceAll(string(text), "<time>", "2026-11-29T09:14:00Z"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			schema := schemaOf(t, files, m.object)
			if schema == nil {
				continue
			}
			checked[m.kind()]++
			if err := valid(t, schema, m.object); err != nil {
				t.Errorf("%s: %s %s: %v", path, m.kind(), m.name(), err)
			}
			spec, _ := m.object["spec"].(map[string]any)
			spec["sise"] = 3
			if err := valid(t, schema, m.object); err == nil {
				t.Errorf("%s: %s %s is accepted with the field sise", path, m.kind(), m.name())
			}
		}
	}
	if len(checked) != 3 {
		t.Errorf("the examples have %v, and should have all three kinds", checked)
	}
}

// Kustomize adds a hash to the name of a generated Secret. A field that kept the name without it would name a Secret that does not exist.
func TestKustomizeWritesTheNamesOfGeneratedSecrets(t *testing.T) {
	_, files := rendered(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"kustomizeconfig.yaml": files["kustomizeconfig.yaml"],
		"kustomization.yaml": `
namePrefix: team-
resources: [objects.yaml]
configurations: [kustomizeconfig.yaml]
secretGenerator:
- name: store
  literals: [credentials=x]
- name: token
  literals: [key=x]
`,
		"objects.yaml": `
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: main}
spec:
  size: 3
  pod: {etcdEnv: [{name: A, valueFrom: {secretKeyRef: {name: token, key: key}}}]}
---
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdBackup
metadata: {name: nightly}
spec:
  etcdCluster: {name: main}
  storageType: S3
  s3: {path: bucket/key, awsSecret: store}
---
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdRestore
metadata: {name: back}
spec:
  etcdCluster: {name: main}
  etcdBackup: {name: nightly}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), program(t, "kubectl"), "kustomize", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl kustomize: %v\n%s", err, out)
	}
	for _, want := range []string{"awsSecret: team-store-", "name: team-token-", "name: team-main\n", "etcdBackup:\n    name: team-nightly"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the result lacks %q:\n%s", want, out)
		}
	}
}

var namesSecret = regexp.MustCompile(`(?i)\bname of (a|the) secret\b`)

// Each field that names a Secret is known to Kustomize, also the next one.
func TestEachFieldThatNamesASecretIsAReference(t *testing.T) {
	_, files := rendered(t)
	var config struct {
		NameReference []struct {
			Kind       string
			FieldSpecs []fieldSpec
		}
	}
	if err := yaml.Unmarshal([]byte(files["kustomizeconfig.yaml"]), &config); err != nil {
		t.Fatal(err)
	}
	known := map[fieldSpec]bool{}
	for _, reference := range config.NameReference {
		for _, f := range reference.FieldSpecs {
			known[f] = true
		}
	}
	crds, err := parse(files["crds.yaml"])
	if err != nil {
		t.Fatal(err)
	}
	var walk func(kind, path string, schema map[string]any)
	walk = func(kind, path string, schema map[string]any) {
		if items, ok := schema["items"].(map[string]any); ok {
			schema = items
		}
		description, _ := schema["description"].(string)
		if names := schema["type"] == "string" && namesSecret.MatchString(description); names && !known[fieldSpec{path, kind}] {
			t.Errorf("%s of %s names a Secret, and is no reference", path, kind)
		}
		for name, p := range properties(schema) {
			walk(kind, path+"/"+name, p.(map[string]any))
		}
	}
	for _, crd := range crds {
		kind, versions, err := versionsOf(crd)
		if err != nil {
			t.Fatal(err)
		}
		for _, schema := range versions {
			walk(kind, "spec", properties(schema)["spec"].(map[string]any))
		}
	}
	if len(known) < 20 {
		t.Errorf("only %d fields are references", len(known))
	}
}
