package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func objects(t *testing.T, stream string) []string {
	t.Helper()
	manifests, err := parse(stream)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range manifests {
		names = append(names, m.kind()+"/"+m.name())
	}
	slices.Sort(names)
	return names
}

func TestInstallManifestHasEverythingAndNothingOfHelm(t *testing.T) {
	_, files := rendered(t)
	install := files["install.yaml"]
	got := objects(t, install)
	for _, want := range []string{
		"Namespace/etcd-operator", "Deployment/etcd-operator-cluster-operator", "Deployment/etcd-operator-backup-operator",
		"Deployment/etcd-operator-restore-operator", "CustomResourceDefinition/etcdclusters.etcd.database.coreos.com",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("install.yaml lacks %s: %v", want, got)
		}
	}
	if got[0] == "" || strings.Contains(install, "helm.sh/") || strings.Contains(install, "managed-by") {
		t.Error("install.yaml contains labels or annotations of Helm")
	}
	// The API server creates objects in their order, so the namespace comes first.
	if first := strings.Index(install, "kind:"); !strings.HasPrefix(install[first:], "kind: Namespace") {
		t.Error("the namespace is not the first object")
	}
	if crds := objects(t, files["crds.yaml"]); len(crds) != 3 {
		t.Errorf("crds.yaml has %v", crds)
	}
}

func TestKustomizeBaseIsTheSameAsInstallManifest(t *testing.T) {
	_, files := rendered(t)
	dir := t.TempDir()
	unpack(t, files["kustomize-V.tar.gz"], dir)
	out, err := exec.CommandContext(t.Context(), program(t, "kubectl"), "kustomize", filepath.Join(dir, "kustomize")).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl kustomize: %v\n%s", err, out)
	}
	if got, want := objects(t, string(out)), objects(t, files["install.yaml"]); !slices.Equal(got, want) {
		t.Errorf("the base has %v, install.yaml %v", got, want)
	}
}

func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	files, err := unzip([]byte(archive))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// The library that validates bundles cannot be had from every module proxy, so this test checks the rules of registry+v1
// that a mistake in the chart or in the generator would break.
func TestBundleFollowsTheRulesOfOLM(t *testing.T) {
	r, files := rendered(t)
	dir := t.TempDir()
	unpack(t, files["olm-bundle-V.tar.gz"], dir)
	var csv clusterServiceVersion
	read(t, filepath.Join(dir, "bundle/manifests/etcd-operator.clusterserviceversion.yaml"), &csv)
	if csv.Metadata["name"] != "etcd-operator.v"+r.version || csv.Spec["version"] != r.version {
		t.Errorf("the bundle is of version %v, named %v", csv.Spec["version"], csv.Metadata["name"])
	}
	for _, key := range []string{"displayName", "description", "provider", "maintainers", "installModes", "minKubeVersion", "keywords", "links", "maturity"} {
		if csv.Spec[key] == nil {
			t.Errorf("spec.%s is missing", key)
		}
	}
	for _, key := range []string{"alm-examples", "capabilities", "categories", "containerImage", "createdAt", "description", "repository"} {
		if field[string](csv.Metadata, "annotations", key) == "" {
			t.Errorf("the annotation %s is missing", key)
		}
	}
	t.Run("it owns exactly the CRDs in it", func(t *testing.T) { checkOwned(t, dir, csv) })
	t.Run("each operator has a Deployment, and a ServiceAccount with rights", func(t *testing.T) { checkPermissions(t, csv) })
	t.Run("each other object is of a kind that a bundle may hold, and has no namespace", func(t *testing.T) { checkObjects(t, dir) })
	t.Run("annotations and Dockerfile name the same parts", func(t *testing.T) { checkParts(t, dir) })
}

type clusterServiceVersion struct {
	Metadata map[string]any `json:"metadata"`
	Spec     map[string]any `json:"spec"`
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func checkOwned(t *testing.T, dir string, csv clusterServiceVersion) {
	t.Helper()
	var owned, crds []string
	for _, entry := range field[[]any](csv.Spec, "customresourcedefinitions", "owned") {
		object, _ := entry.(map[string]any)
		owned = append(owned, field[string](object, "name")+"/"+field[string](object, "version"))
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "bundle/manifests/*.coreos.com.yaml"))
	for _, path := range paths {
		var crd map[string]any
		read(t, path, &crd)
		for _, version := range field[[]any](crd, "spec", "versions") {
			v, _ := version.(map[string]any)
			crds = append(crds, field[string](crd, "metadata", "name")+"/"+field[string](v, "name"))
		}
	}
	slices.Sort(owned)
	slices.Sort(crds)
	if len(owned) != 3 || !slices.Equal(owned, crds) {
		t.Errorf("the bundle owns %v, and contains %v", owned, crds)
	}
}

func checkPermissions(t *testing.T, csv clusterServiceVersion) {
	t.Helper()
	accounts := map[string]int{}
	for _, kind := range []string{"clusterPermissions", "permissions"} {
		for _, entry := range field[[]any](csv.Spec, "install", "spec", kind) {
			object, _ := entry.(map[string]any)
			if len(field[[]any](object, "rules")) == 0 {
				t.Errorf("%s has an entry without rules", kind)
			}
			accounts[field[string](object, "serviceAccountName")]++
		}
	}
	deployments := field[[]any](csv.Spec, "install", "spec", "deployments")
	if len(deployments) != 3 || len(accounts) != 3 {
		t.Errorf("the bundle has %d Deployments and rights of %v", len(deployments), accounts)
	}
	for _, entry := range deployments {
		object, _ := entry.(map[string]any)
		if account := field[string](object, "spec", "template", "spec", "serviceAccountName"); accounts[account] < 2 {
			t.Errorf("Deployment %v runs as %s, which has no rights", object["name"], account)
		}
	}
}

// bundled are the kinds that a bundle may hold besides the ClusterServiceVersion and its CRDs.
var bundled = []string{"Service", "ClusterRole", "PodDisruptionBudget", "NetworkPolicy", "ConfigMap", "Secret"}

func checkObjects(t *testing.T, dir string) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(dir, "bundle/manifests/*.yaml"))
	others := 0
	for _, path := range paths {
		var object map[string]any
		read(t, path, &object)
		kind := field[string](object, "kind")
		if kind == "ClusterServiceVersion" || kind == "CustomResourceDefinition" {
			continue
		}
		others++
		if !slices.Contains(bundled, kind) || field[string](object, "metadata", "namespace") != "" {
			t.Errorf("%s is a %s in namespace %q", filepath.Base(path), kind, field[string](object, "metadata", "namespace"))
		}
	}
	if others < 5 {
		t.Errorf("the bundle has %d other objects, so the test tested too little", others)
	}
}

func checkParts(t *testing.T, dir string) {
	t.Helper()
	var metadata struct {
		Annotations map[string]string `json:"annotations"`
	}
	read(t, filepath.Join(dir, "bundle/metadata/annotations.yaml"), &metadata)
	if len(metadata.Annotations) != 6 {
		t.Errorf("%d annotations, want 6", len(metadata.Annotations))
	}
	dockerfile, err := os.ReadFile(filepath.Join(dir, "bundle/bundle.Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range metadata.Annotations {
		if !bytes.Contains(dockerfile, []byte("LABEL "+key+"="+value+"\n")) {
			t.Errorf("the Dockerfile lacks the label %s=%s", key, value)
		}
	}
}
