package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// schemas writes a JSON Schema for each version of each CustomResourceDefinition, under the name that kubeconform asks for, so that editors and checks in
// CI know the fields. It also writes which fields name other objects, for Kustomize.
func (r release) schemas(crds []manifest) error {
	names := references{}
	for _, crd := range crds {
		kind, versions, err := versionsOf(crd)
		if err != nil {
			return err
		}
		for version, schema := range versions {
			spec, _ := properties(schema)["spec"].(map[string]any)
			names.add(kind, "spec", spec)
			file := strings.ToLower(kind) + "_" + version + ".json"
			text, err := json.MarshalIndent(jsonSchema(kind, group(crd)+"/"+version, schema), "", "  ")
			if err != nil {
				return fmt.Errorf("encode %s: %w", file, err)
			}
			if err := r.write(file, append(text, '\n')); err != nil {
				return err
			}
		}
	}
	text, err := names.configuration()
	if err != nil {
		return err
	}
	return r.write("kustomizeconfig.yaml", text)
}

func group(crd manifest) string {
	spec, _ := crd.object["spec"].(map[string]any)
	group, _ := spec["group"].(string)
	return group
}

// versionsOf returns the kind of a CRD, and the schema of each version.
func versionsOf(crd manifest) (kind string, schemas map[string]map[string]any, err error) {
	spec, _ := crd.object["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	kind, _ = names["kind"].(string)
	versions, _ := spec["versions"].([]any)
	schemas = map[string]map[string]any{}
	for _, v := range versions {
		version, _ := v.(map[string]any)
		wrapper, _ := version["schema"].(map[string]any)
		name, _ := version["name"].(string)
		schema, ok := wrapper["openAPIV3Schema"].(map[string]any)
		if !ok || kind == "" || name == "" {
			return "", nil, fmt.Errorf("the CRD %s has a version without a schema", crd.name())
		}
		schemas[name] = schema
	}
	return kind, schemas, nil
}

// jsonSchema returns the schema of a kind, which accepts only that kind and no unknown field.
func jsonSchema(kind, apiVersion string, schema map[string]any) map[string]any {
	out, _ := strict(schema).(map[string]any)
	out["$schema"], out["title"] = "http://json-schema.org/draft-07/schema#", kind
	own := properties(out)
	own["apiVersion"], own["kind"] = map[string]any{"const": apiVersion}, map[string]any{"const": kind}
	own["metadata"] = map[string]any{"type": "object"}
	out["required"] = []string{"apiVersion", "kind", "metadata", "spec"}
	return out
}

// strict turns a part of a schema of Kubernetes into JSON Schema: without the extensions of Kubernetes, and objects with known fields have no others.
func strict(part any) any {
	switch part := part.(type) {
	case []any:
		out := make([]any, len(part))
		for i, p := range part {
			out[i] = strict(p)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, p := range part {
			if !strings.HasPrefix(name, "x-kubernetes-") {
				out[name] = strict(p)
			}
		}
		_, fields := part["properties"].(map[string]any)
		if fields && part["type"] == "object" && part["x-kubernetes-preserve-unknown-fields"] != true {
			out["additionalProperties"] = false
		}
		if part["x-kubernetes-int-or-string"] == true {
			delete(out, "anyOf")
			out["type"] = []string{"integer", "string"}
		}
		return out
	}
	return part
}

func properties(schema map[string]any) map[string]any {
	of, _ := schema["properties"].(map[string]any)
	return of
}

// references are the fields that name objects, by the kind of these objects.
type references map[string][]fieldSpec

// fieldSpec is that of Kustomize.
type fieldSpec struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
}

// named are the fields that are names of objects.
var named = []struct {
	kind string
	path *regexp.Regexp
}{
	{"Secret", regexp.MustCompile(`(/[a-zA-Z]*[sS]ecret|/secretName|/(secretKeyRef|[a-zA-Z]*[sS]ecretRef|imagePullSecrets)/name)$`)},
	{"ConfigMap", regexp.MustCompile(`/(configMapKeyRef|configMapRef|configMap)/name$`)},
	{"PersistentVolumeClaim", regexp.MustCompile(`/claimName$`)},
	{"ServiceAccount", regexp.MustCompile(`/serviceAccountName$`)},
	{"EtcdCluster", regexp.MustCompile(`/etcdCluster/name$`)},
	{"EtcdBackup", regexp.MustCompile(`/etcdBackup/name$`)},
}

// add adds the fields of a part of the schema of a kind.
func (r references) add(kind, path string, schema map[string]any) {
	if items, ok := schema["items"].(map[string]any); ok {
		r.add(kind, path, items)
		return
	}
	for name, p := range properties(schema) {
		r.add(kind, path+"/"+name, p.(map[string]any))
	}
	if schema["type"] != "string" {
		return
	}
	for _, of := range named {
		if of.path.MatchString(path) {
			r[of.kind] = append(r[of.kind], fieldSpec{path, kind})
		}
	}
}

// configuration returns the configuration of Kustomize.
func (r references) configuration() ([]byte, error) {
	type reference struct {
		Kind       string      `json:"kind"`
		FieldSpecs []fieldSpec `json:"fieldSpecs"`
	}
	var out struct {
		NameReference []reference `json:"nameReference"`
	}
	for _, of := range named {
		fields := r[of.kind]
		slices.SortFunc(fields, func(a, b fieldSpec) int { return strings.Compare(a.Kind+a.Path, b.Kind+b.Path) })
		out.NameReference = append(out.NameReference, reference{of.kind, fields})
	}
	text, err := yaml.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode the configuration of Kustomize: %w", err)
	}
	return append([]byte("# Which fields of the etcd operator suite name other objects. Name this file in configurations of a kustomization.yaml, so that Kustomize\n"+
		"# writes the generated names of Secrets, and names with a prefix or suffix, into them.\n"), text...), nil
}
