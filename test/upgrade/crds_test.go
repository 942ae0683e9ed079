package upgrade

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// fields are the fields of the three kinds that a schema has, such as "EtcdCluster.status.restore.step".
type fields map[string]bool

// definition is the part of a CustomResourceDefinition that the test reads.
type definition struct {
	Spec struct {
		Names    struct{ Kind string }
		Versions []struct {
			Schema struct{ OpenAPIV3Schema schema }
		}
	}
}

type schema struct {
	Properties map[string]schema
	Items      *schema
}

func (f fields) add(path string, s schema) {
	for name, property := range s.Properties {
		f[path+"."+name] = true
		f.add(path+"."+name, property)
	}
	if s.Items != nil {
		f.add(path, *s.Items)
	}
}

func (f fields) read(document string) error {
	var found definition
	if err := yaml.Unmarshal([]byte(document), &found); err != nil {
		return fmt.Errorf("read a CustomResourceDefinition: %w", err)
	}
	for _, version := range found.Spec.Versions {
		f.add(found.Spec.Names.Kind, version.Schema.OpenAPIV3Schema)
	}
	return nil
}

// fieldsOf returns the fields in the chart of a tree.
func fieldsOf(t *testing.T, tree string) fields {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(tree, chart, "files", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found no CustomResourceDefinitions in %s: %v", tree, err)
	}
	found := fields{}
	for _, file := range files {
		document, err := os.ReadFile(file)
		if err == nil {
			err = found.read(string(document))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// crdsAreThoseOf fails the test if the API server does not have the fields of the suite that runs now. It prints those that a rollback
// removes.
func crdsAreThoseOf(t *testing.T, c change) {
	t.Helper()
	live := fields{}
	for _, kind := range []string{"etcdclusters", "etcdbackups", "etcdrestores"} {
		document, err := suite.Kubectl(t.Context(), "get", "customresourcedefinition", kind+".etcd.database.coreos.com", "-o", "yaml")
		if err == nil {
			err = live.read(document)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(fieldsOf(t, c.tree), live); diff != "" {
		t.Errorf("after %s, the API server has other fields (-chart +API server):\n%s", c.name, diff)
	}
	old, now := fieldsOf(t, suite.from.tree()), fieldsOf(t, root)
	maps.DeleteFunc(now, func(name string, _ bool) bool { return old[name] })
	t.Logf("after %s, the API has %d fields. These %d of the working tree are newer than commit %s: %s",
		c.name, len(live), len(now), suite.from.short(), strings.Join(slices.Sorted(maps.Keys(now)), ", "))
}
