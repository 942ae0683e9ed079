package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// bundleAnnotations names the parts of the bundle for the Operator Lifecycle Manager.
const bundleAnnotations = `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: etcd-operator
  operators.operatorframework.io.bundle.channels.v1: stable
  operators.operatorframework.io.bundle.channel.default.v1: stable
`

const bundleDockerfile = `FROM scratch
LABEL operators.operatorframework.io.bundle.mediatype.v1=registry+v1
LABEL operators.operatorframework.io.bundle.manifests.v1=manifests/
LABEL operators.operatorframework.io.bundle.metadata.v1=metadata/
LABEL operators.operatorframework.io.bundle.package.v1=etcd-operator
LABEL operators.operatorframework.io.bundle.channels.v1=stable
LABEL operators.operatorframework.io.bundle.channel.default.v1=stable
COPY manifests /manifests/
COPY metadata /metadata/
`

// almExamples are shown by the console of OpenShift as templates.
var almExamples = []string{"examples/etcdcluster.yaml", "examples/etcdbackup-s3.yaml", "examples/etcdrestore-s3.yaml"}

// bundle writes the bundle of the Operator Lifecycle Manager (OLM), in the format registry+v1.
func (r release) bundle(crds, others []manifest) error {
	csv, err := r.clusterServiceVersion(crds, others)
	if err != nil {
		return fmt.Errorf("make the OLM bundle: %w", err)
	}
	files := []file{
		{"bundle/bundle.Dockerfile", []byte(bundleDockerfile)},
		{"bundle/manifests/etcd-operator.clusterserviceversion.yaml", csv},
		{"bundle/metadata/annotations.yaml", []byte(bundleAnnotations)},
	}
	for _, crd := range crds {
		files = append(files, file{"bundle/manifests/" + crd.name() + ".yaml", []byte(crd.text)})
	}
	for _, m := range others {
		if inCSV(m) || m.kind() == "ValidatingAdmissionPolicy" || m.kind() == "ValidatingAdmissionPolicyBinding" {
			continue // OLM does not install policies, and chooses the namespace of the accounts that they name
		}
		raw, err := withoutNamespace(m)
		if err != nil {
			return err
		}
		name := strings.ToLower(m.kind()) + "-" + strings.ReplaceAll(m.name(), ":", "-")
		files = append(files, file{"bundle/manifests/" + name + ".yaml", raw})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	packed, err := zip(files, r.time)
	if err != nil {
		return err
	}
	return r.write("olm-bundle-"+r.version+".tar.gz", packed)
}

// inCSV reports whether OLM makes the object from the ClusterServiceVersion.
func inCSV(m manifest) bool {
	switch m.kind() {
	case "Deployment", "ServiceAccount", "ClusterRoleBinding", "Role", "RoleBinding":
		return true
	case "ClusterRole":
		return component(m) != "" // the others are roles for users
	}
	return false
}

func component(m manifest) string {
	return field[string](m.object, "metadata", "labels", "app.kubernetes.io/component")
}

// withoutNamespace returns the object without its namespace, which OLM chooses.
func withoutNamespace(m manifest) ([]byte, error) {
	metadata := field[map[string]any](m.object, "metadata")
	copied := map[string]any{}
	for key, value := range metadata {
		if key != "namespace" {
			copied[key] = value
		}
	}
	object := map[string]any{}
	for key, value := range m.object {
		object[key] = value
	}
	object["metadata"] = copied
	return yaml.Marshal(object)
}

func (r release) clusterServiceVersion(crds, others []manifest) ([]byte, error) {
	examples, err := readExamples()
	if err != nil {
		return nil, err
	}
	var deployments, wide, local []any
	images := []any{}
	for _, m := range others {
		account := "etcd-operator-" + component(m)
		switch {
		case m.kind() == "Deployment":
			deployments = append(deployments, map[string]any{"name": m.name(), "label": field[any](m.object, "metadata", "labels"), "spec": m.object["spec"]})
			images = append(images, map[string]any{"name": component(m), "image": "ghcr.io/etcd-suite/" + component(m) + ":" + r.version})
		case m.kind() == "ClusterRole" && inCSV(m):
			wide = append(wide, map[string]any{"serviceAccountName": account, "rules": m.object["rules"]})
		case m.kind() == "Role":
			local = append(local, map[string]any{"serviceAccountName": account, "rules": m.object["rules"]})
		}
	}
	return yaml.Marshal(map[string]any{
		"apiVersion": "operators.coreos.com/v1alpha1",
		"kind":       "ClusterServiceVersion",
		"metadata": map[string]any{
			"name":      "etcd-operator.v" + r.version,
			"namespace": "placeholder",
			"annotations": map[string]any{
				"alm-examples":   examples,
				"capabilities":   "Deep Insights",
				"categories":     "Database",
				"containerImage": "ghcr.io/etcd-suite/cluster-operator:" + r.version,
				"createdAt":      r.time.Format(time.RFC3339),
				"description":    "Runs etcd clusters, saves snapshots of them, and restores verified snapshots",
				"repository":     repositoryURL,
				"support":        "etcd-suite",
			},
		},
		"spec": map[string]any{
			"displayName":               "etcd operator suite",
			"description":               "Three operators that run etcd clusters, save snapshots to S3, GCS and Azure Blob Storage, and restore verified snapshots. Read " + repositoryURL + ".",
			"version":                   r.version,
			"maturity":                  "beta",
			"minKubeVersion":            "1.30.0",
			"keywords":                  []string{"etcd", "backup", "restore"},
			"provider":                  map[string]any{"name": "etcd-suite", "url": repositoryURL},
			"maintainers":               []any{map[string]any{"name": "etcd-suite", "email": "maintainers@etcd-suite.example"}},
			"links":                     []any{map[string]any{"name": "Documentation", "url": repositoryURL + "/tree/main/docs"}},
			"installModes":              installModes(),
			"customresourcedefinitions": map[string]any{"owned": owned(crds)},
			"install":                   map[string]any{"strategy": "deployment", "spec": map[string]any{"deployments": deployments, "clusterPermissions": wide, "permissions": local}},
			"relatedImages":             images,
		},
	})
}

// installModes: the operators of the bundle serve all namespaces.
func installModes() []any {
	var modes []any
	for _, mode := range []string{"OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"} {
		modes = append(modes, map[string]any{"type": mode, "supported": mode == "AllNamespaces"})
	}
	return modes
}

func owned(crds []manifest) []any {
	descriptions := map[string]string{
		"EtcdCluster": "An etcd cluster that the operator creates, repairs, resizes and upgrades",
		"EtcdBackup":  "One snapshot or a schedule of snapshots of an etcd cluster",
		"EtcdRestore": "The restore of a snapshot into an EtcdCluster",
	}
	var list []any
	for _, crd := range crds {
		kind := field[string](crd.object, "spec", "names", "kind")
		for _, version := range field[[]any](crd.object, "spec", "versions") {
			v, _ := version.(map[string]any)
			list = append(list, map[string]any{"name": crd.name(), "kind": kind, "version": v["name"], "displayName": kind, "description": descriptions[kind]})
		}
	}
	return list
}

// readExamples returns the examples as a JSON list.
func readExamples() (string, error) {
	var examples []any
	for _, path := range almExamples {
		raw, err := os.ReadFile(filepath.FromSlash(path))
		if err != nil {
			return "", err
		}
		var object map[string]any
		if err := yaml.Unmarshal(raw, &object); err != nil {
			return "", fmt.Errorf("parse %s: %w", path, err)
		}
		examples = append(examples, object)
	}
	raw, err := json.MarshalIndent(examples, "", "  ")
	return string(raw), err
}

// field returns the value at a path of maps, or the zero value.
func field[T any](object map[string]any, path ...string) T {
	var value any = object
	for _, key := range path {
		inner, _ := value.(map[string]any)
		value = inner[key]
	}
	found, _ := value.(T)
	return found
}
