// Crds shortens the CustomResourceDefinitions that controller-gen wrote. kubectl apply stores a manifest in an annotation
// of at most 262144 bytes, and most of EtcdCluster's manifest are descriptions of the types of Kubernetes that it embeds.
// Of those each keeps its first sentence. Descriptions of the types of this project are kept whole.
package main

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// kinds maps each kind to its type.
var kinds = map[string]reflect.Type{
	"EtcdCluster": reflect.TypeFor[v1beta2.EtcdCluster](),
	"EtcdBackup":  reflect.TypeFor[v1beta2.EtcdBackup](),
	"EtcdRestore": reflect.TypeFor[v1beta2.EtcdRestore](),
}

func main() {
	for _, path := range os.Args[1:] {
		if err := shortenFile(path); err != nil {
			fmt.Fprintln(os.Stderr, "crds:", err)
			os.Exit(1)
		}
	}
}

func shortenFile(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		return fmt.Errorf("decode the CRD in %s: %w", path, err)
	}
	schemas, kind, err := schemasOf(crd)
	if err != nil {
		return fmt.Errorf("CRD in %s: %w", path, err)
	}
	for _, schema := range schemas {
		shorten(schema, kind)
	}
	short, err := yaml.Marshal(crd)
	if err != nil {
		return fmt.Errorf("encode the CRD in %s: %w", path, err)
	}
	if err := os.WriteFile(path, append([]byte("---\n"), short...), 0o644); err != nil { // a file of the repository
		return fmt.Errorf("write the CRD: %w", err)
	}
	return nil
}

// schemasOf returns the schema of each version of a CRD, and the type of its kind.
func schemasOf(crd map[string]any) ([]map[string]any, reflect.Type, error) {
	spec, _ := crd["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	kind, known := kinds[fmt.Sprint(names["kind"])]
	if !known {
		return nil, nil, fmt.Errorf("unknown kind %v: add it to kinds in hack/crds", names["kind"])
	}
	var schemas []map[string]any
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		wrapper, _ := version["schema"].(map[string]any)
		schema, ok := wrapper["openAPIV3Schema"].(map[string]any)
		if !ok {
			return nil, nil, fmt.Errorf("version %v has no schema", version["name"])
		}
		schemas = append(schemas, schema)
	}
	return schemas, kind, nil
}

// shorten shortens descriptions in the schema of a type: those of the fields of embedded types of Kubernetes. The
// description of the schema itself belongs to the field that has the type.
func shorten(schema map[string]any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if items, ok := schema["items"].(map[string]any); ok && t.Kind() == reflect.Slice {
		shorten(items, t.Elem())
		return
	}
	if values, ok := schema["additionalProperties"].(map[string]any); ok && t.Kind() == reflect.Map {
		shorten(values, t.Elem())
		return
	}
	if t.Kind() != reflect.Struct {
		return
	}
	properties, _ := schema["properties"].(map[string]any)
	if !ours(t) {
		firstSentences(properties)
		return
	}
	for name, field := range fieldsOf(t) {
		if property, ok := properties[name].(map[string]any); ok {
			shorten(property, field.Type)
		}
	}
}

// ours reports whether this project describes the fields of a type.
func ours(t reflect.Type) bool { return t.PkgPath() == kinds["EtcdCluster"].PkgPath() }

// fieldsOf maps the names of a struct's fields in JSON to the fields, including those of inlined structs.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Anonymous {
			if ours(field.Type) {
				for inlined, inner := range fieldsOf(field.Type) {
					fields[inlined] = inner
				}
			}
			continue
		}
		fields[name] = field
	}
	return fields
}

// firstSentences shortens all descriptions in a part of a schema.
func firstSentences(part any) {
	switch part := part.(type) {
	case []any:
		for _, each := range part {
			firstSentences(each)
		}
	case map[string]any:
		if text, ok := part["description"].(string); ok {
			part["description"] = firstSentence(text)
		}
		for _, each := range part {
			firstSentences(each)
		}
	}
}

// sentenceEnd is a full stop before a capital letter, or the end of a paragraph. "e.g. a node" does not end a sentence.
var sentenceEnd = regexp.MustCompile(`\.\s+[A-Z]|\n\n`)

func firstSentence(text string) string {
	end := sentenceEnd.FindStringIndex(text)
	if end == nil {
		return text
	}
	if text[end[0]] == '.' {
		end[0]++
	}
	return text[:end[0]]
}
