package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	folder = "../../charts/etcd-operator/files/crds"
	api    = "../../api/v1beta2"
)

// read returns a CRD of the chart, by its file.
func read(t *testing.T) map[string]map[string]any {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(paths) != len(kinds) {
		t.Fatalf("found the CRDs %q, error %v", paths, err)
	}
	found := map[string]map[string]any{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var crd map[string]any
		if err := yaml.Unmarshal(raw, &crd); err != nil {
			t.Fatal(err)
		}
		found[path] = crd
	}
	return found
}

// kubectl apply stores the whole manifest in an annotation, and the API server refuses annotations above 262144 bytes.
func TestEveryCRDFitsIntoTheAnnotationOfKubectlApply(t *testing.T) {
	const limit = 230_000 // the rest is for the annotations of others
	for path, crd := range read(t) {
		compact, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		if len(compact) > limit {
			t.Errorf("%s has %d bytes as JSON, and the limit is %d: run make generate, or embed smaller types", path, len(compact), limit)
		}
	}
}

func TestEveryFieldOfThisProjectKeepsItsWholeDescription(t *testing.T) {
	comments, checked := fieldComments(t), 0
	for path, crd := range read(t) {
		schemas, kind, err := schemasOf(crd)
		if err != nil {
			t.Fatal(err)
		}
		for _, schema := range schemas {
			eachField(schema, kind, func(owner reflect.Type, field reflect.StructField, property map[string]any) {
				want := comments[declaredBy(owner, field)+"."+field.Name]
				if want == "" {
					return // its description is that of the type
				}
				checked++
				got, _ := property["description"].(string)
				if strings.Join(strings.Fields(got), " ") != want {
					t.Errorf("%s: %s.%s has the description %q, want %q", path, owner.Name(), field.Name, got, want)
				}
			})
		}
	}
	if checked < 300 {
		t.Errorf("only %d fields were compared, so the test tested too little", checked)
	}
}

// eachField calls visit for each field of a type of this project below t.
func eachField(schema map[string]any, t reflect.Type, visit func(reflect.Type, reflect.StructField, map[string]any)) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		for _, below := range []string{"items", "additionalProperties"} {
			if inner, ok := schema[below].(map[string]any); ok && t.Kind() != reflect.Pointer {
				schema = inner
				break
			}
		}
		t = t.Elem()
	}
	properties, _ := schema["properties"].(map[string]any)
	if t.Kind() != reflect.Struct || !ours(t) {
		return
	}
	for name, field := range fieldsOf(t) {
		if property, ok := properties[name].(map[string]any); ok {
			visit(t, field, property)
			eachField(property, field.Type, visit)
		}
	}
}

// declaredBy returns the name of the struct that declares a field: owner, or a struct that it inlines.
func declaredBy(owner reflect.Type, field reflect.StructField) string {
	for i := range owner.NumField() {
		embedded := owner.Field(i)
		if !embedded.Anonymous || !ours(embedded.Type) {
			continue
		}
		if found, ok := embedded.Type.FieldByName(field.Name); ok && found.Tag == field.Tag {
			return declaredBy(embedded.Type, field)
		}
	}
	return owner.Name()
}

// fieldComments maps "Type.Field" to the field's comment without markers, in one line.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(api, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if structure, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range structure.Fields.List {
					for _, name := range field.Names {
						comments[spec.Name.Name+"."+name.Name] = plain(field.Doc.Text())
					}
				}
			}
			return false
		})
	}
	return comments
}

func plain(comment string) string {
	var words []string
	for line := range strings.Lines(comment) {
		if !strings.HasPrefix(line, "+") {
			words = append(words, strings.Fields(line)...)
		}
	}
	return strings.Join(words, " ")
}

func TestADescriptionOfKubernetesKeepsItsFirstSentence(t *testing.T) {
	for text, want := range map[string]string{
		"One sentence":                                  "One sentence",
		"Name of the node. Required.":                   "Name of the node.",
		"Must be unique, e.g. a UID.\nCannot change.":   "Must be unique, e.g. a UID.",
		"Ends with a paragraph\n\nThe second paragraph": "Ends with a paragraph",
	} {
		if got := firstSentence(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
