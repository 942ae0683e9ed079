package main

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

const namespaceYAML = `apiVersion: v1
kind: Namespace
metadata:
  name: ` + releaseName + `
  labels:
    pod-security.kubernetes.io/enforce: restricted
`

const kustomization = `# A base for Kustomize. An overlay names it in resources, and sets images and patches of its own.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - namespace.yaml
  - crds.yaml
  - operators.yaml
`

// A manifest is one Kubernetes object, as text and decoded.
type manifest struct {
	text   string
	object map[string]any
}

func (m manifest) kind() string { kind, _ := m.object["kind"].(string); return kind }

func (m manifest) name() string {
	metadata, _ := m.object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// manifests writes install.yaml, crds.yaml, their schemas, the Kustomize base and the OLM bundle, all rendered from the packaged chart, which has the
// digests of the images.
func (r release) manifests(ctx context.Context, opts options) error {
	rendered, err := command(ctx, opts.helm, "template", releaseName, r.path(r.chartFile()), "--namespace", releaseName, "--skip-tests")
	if err != nil {
		return err
	}
	all, err := parse(plain(string(rendered)))
	if err != nil {
		return err
	}
	var crds, others []manifest
	for _, m := range all {
		if m.kind() == "CustomResourceDefinition" {
			crds = append(crds, m)
		} else {
			others = append(others, m)
		}
	}
	if err := r.write("crds.yaml", join(crds)); err != nil {
		return err
	}
	install := fmt.Sprintf("# The etcd operator suite %s. Install it with: kubectl apply --server-side -f install.yaml\n%s---\n%s---\n%s",
		r.version, namespaceYAML, join(crds), join(others))
	if err := r.write("install.yaml", []byte(install)); err != nil {
		return err
	}
	base, err := zip([]file{
		{"kustomize/crds.yaml", join(crds)},
		{"kustomize/kustomization.yaml", []byte(kustomization)},
		{"kustomize/namespace.yaml", []byte(namespaceYAML)},
		{"kustomize/operators.yaml", join(others)},
	}, r.time)
	if err != nil {
		return err
	}
	if err := r.write("kustomize-"+r.version+".tar.gz", base); err != nil {
		return err
	}
	if err := r.schemas(crds); err != nil {
		return err
	}
	return r.bundle(crds, others)
}

// helmOnly are the lines that hold for objects of a Helm release only.
var helmOnly = regexp.MustCompile(`(?m)^(\s+(helm\.sh/chart|helm\.sh/resource-policy|app\.kubernetes\.io/managed-by): .*|# Source: .*)\n`)

// plain removes what only Helm understands. All objects keep other labels and annotations.
func plain(rendered string) string { return helmOnly.ReplaceAllString(rendered, "") }

// parse splits a stream of YAML documents.
func parse(stream string) ([]manifest, error) {
	var found []manifest
	for _, text := range strings.Split("\n"+stream, "\n---\n") {
		m := manifest{text: strings.TrimSpace(text) + "\n"}
		if err := yaml.Unmarshal([]byte(text), &m.object); err != nil {
			return nil, fmt.Errorf("parse a rendered manifest: %w", err)
		}
		if m.object != nil {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the chart renders no object")
	}
	return found, nil
}

func join(manifests []manifest) []byte {
	var out bytes.Buffer
	for i, m := range manifests {
		if i > 0 {
			out.WriteString("---\n")
		}
		out.WriteString(m.text)
	}
	return out.Bytes()
}
