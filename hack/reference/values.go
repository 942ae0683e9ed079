package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// blocks are the values of the three operators, which share most names.
var blocks = []string{"clusterOperator", "backupOperator", "restoreOperator"}

// value is one value of the chart with its default and the comment above it.
type value struct{ path, byDefault, meaning string }

// valueRows are the values of the chart. What all three operators have with the same default and meaning is listed once.
func valueRows(root string) ([][]string, error) {
	found, err := values(filepath.Join(root, "charts/etcd-operator/values.yaml"))
	if err != nil {
		return nil, err
	}
	rows := [][]string{{"value", "default", "meaning"}}
	for _, v := range merged(found) {
		rows = append(rows, []string{code(v.path), v.byDefault, v.meaning})
	}
	return rows, nil
}

// values returns all values that have a comment "# -- ...".
func values(file string) ([]value, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the values: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("parse %s: %w", file, err)
	}
	found, err := walk("", document.Content[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if want := strings.Count(string(text), "# -- "); want != len(found) {
		return nil, fmt.Errorf("%s has %d comments that begin with \"# -- \", and %d values below one", file, want, len(found))
	}
	return found, nil
}

// walk returns the values below a mapping. One without a comment must be a block of others.
func walk(prefix string, mapping *yaml.Node) ([]value, error) {
	var found []value
	for i := 0; i < len(mapping.Content); i += 2 {
		key, node := mapping.Content[i], mapping.Content[i+1]
		path := prefix + key.Value
		meaning, documented := comment(key.HeadComment)
		switch {
		case documented:
			byDefault, err := literal(node)
			if err != nil {
				return nil, fmt.Errorf("default of %s: %w", path, err)
			}
			found = append(found, value{path, byDefault, meaning})
		case node.Kind == yaml.MappingNode && len(node.Content) > 0:
			below, err := walk(path+".", node)
			if err != nil {
				return nil, err
			}
			found = append(found, below...)
		default:
			return nil, fmt.Errorf("%s has no comment that begins with \"# -- \"", path)
		}
	}
	return found, nil
}

// comment returns what a comment says from its "-- " on.
func comment(head string) (string, bool) {
	_, meaning, found := strings.Cut("\n"+head, "\n# -- ")
	return strings.Join(strings.Fields(strings.ReplaceAll(meaning, "\n#", " ")), " "), found
}

// literal is a default as one would write it into a values file on one line. An empty text shows as nothing.
func literal(node *yaml.Node) (string, error) {
	var content any
	if err := node.Decode(&content); err != nil {
		return "", err
	}
	if text, ok := content.(string); ok {
		if text == "" {
			return "", nil
		}
		return code(text), nil
	}
	line, err := json.Marshal(content)
	return code(string(line)), err
}

// merged replaces values that are equal in all three operators by one of <operator>.
func merged(found []value) []value {
	of := func(block, name string) (value, bool) {
		i := slices.IndexFunc(found, func(v value) bool { return v.path == block+"."+name })
		if i < 0 {
			return value{}, false
		}
		return found[i], true
	}
	var rows, shared []value
	for _, v := range found {
		block, name, _ := strings.Cut(v.path, ".")
		if !slices.Contains(blocks, block) {
			rows = append(rows, v)
			continue
		}
		equal := !slices.ContainsFunc(blocks, func(other string) bool {
			o, ok := of(other, name)
			return !ok || o.byDefault != v.byDefault || o.meaning != v.meaning
		})
		switch {
		case !equal:
			rows = append(rows, v)
		case block == blocks[0]:
			shared = append(shared, value{"<operator>." + name, v.byDefault, v.meaning})
		}
	}
	return append(rows, shared...)
}
