package plan

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
)

// keyOf is a key of a Secret that a page about control planes names.
type keyOf struct{ secret, key string }

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// namedKeys are the keys of Secrets that a manifest names, as Kamaji, k0smotron, vcluster, HyperShift and External Secrets Operator name them.
func namedKeys(value any) []keyOf {
	var found []keyOf
	switch value := value.(type) {
	case []any:
		for _, inner := range value {
			found = append(found, namedKeys(inner)...)
		}
	case map[string]any:
		text := func(field string) string { s, _ := value[field].(string); return s }
		switch {
		case text("keyPath") != "": // a secretReference of Kamaji
			found = append(found, keyOf{text("name"), text("keyPath")})
		case text("property") != "": // a remoteRef of External Secrets Operator
			found = append(found, keyOf{text("key"), text("property")})
		case text("key") != "" && text("name") != "": // a secretRef of k0smotron
			found = append(found, keyOf{text("name"), text("key")})
		}
		if client, is := value["clientSecret"].(map[string]any); is { // HyperShift reads these
			for _, key := range []string{"etcd-client.crt", "etcd-client.key", "etcd-client-ca.crt"} {
				found = append(found, keyOf{client["name"].(string), key})
			}
		}
		for _, inner := range value {
			found = append(found, namedKeys(inner)...)
		}
	}
	return found
}

// mountedKeys are the files below the path at which a page mounts a Secret.
func mountedKeys(document, secret string) (keys []keyOf) {
	for _, file := range regexp.MustCompile(`/etc/etcd-client/([\w.-]+)`).FindAllStringSubmatch(document, -1) {
		keys = append(keys, keyOf{secret, file[1]})
	}
	return keys
}

// keysOfPages are all keys that the pages name, by page.
func keysOfPages(t *testing.T) map[string][]keyOf {
	t.Helper()
	pages, err := filepath.Glob("../../../docs/control-planes*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]keyOf{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(page)
		for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			for _, document := range strings.Split(block[1], "\n---\n") {
				var value any
				if err := yaml.Unmarshal([]byte(document), &value); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				found[name] = append(found[name], namedKeys(value)...)
				if mounted := regexp.MustCompile(`secretName: ([\w-]+)`).FindStringSubmatch(document); mounted != nil {
					found[name] = append(found[name], mountedKeys(document, mounted[1])...)
				}
			}
		}
		if name == "control-planes.md" {
			found[name] = mountedKeys(string(text), "example-tenant-a-tls")
		}
	}
	return found
}

// A control plane mounts a key that the Secret does not have, and does not start. The manifest has the right format, so no API server refuses it.
func TestTheOperatorWritesEachKeyThatAPageAboutControlPlanesNames(t *testing.T) {
	w := newRotation(t, 1, managedFor(time.Hour))
	w.certify()
	written := func(secret string) *material.Secret {
		switch secret {
		case "example" + v1beta2.AuthoritySecretSuffix:
			return w.m.CA
		case "example" + v1beta2.ClientSecretSuffix:
			return w.m.HandedOut["client"]
		case "example-tenant-a-tls", "example-kamaji-tls": // of a user, as that of shop
			return w.m.Users["shop"]
		}
		return nil
	}
	pages := keysOfPages(t)
	for page, keys := range pages {
		for _, k := range keys {
			if len(written(k.secret).Get(k.key)) == 0 {
				t.Errorf("%s names the key %s of Secret %s, which the operator does not write", page, k.key, k.secret)
			}
		}
	}
	for _, page := range []string{"", "-kamaji", "-k0smotron", "-vcluster", "-hypershift", "-cluster-api"} {
		if keys := slices.Compact(pages["control-planes"+page+".md"]); len(keys) < 3 {
			t.Errorf("control-planes%s.md names the keys %v only", page, keys)
		}
	}
}
