package chart

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// metadata is Chart.yaml.
type metadata struct {
	Version     string            `json:"version"`
	Annotations map[string]string `json:"annotations"`
}

func readChart(t *testing.T) metadata {
	t.Helper()
	var m metadata
	readYAML(t, filepath.Join(chartDir, "Chart.yaml"), &m)
	return m
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func annotation[T any](t *testing.T, m metadata, name string) T {
	t.Helper()
	var value T
	if err := yaml.UnmarshalStrict([]byte(m.Annotations["artifacthub.io/"+name]), &value); err != nil {
		t.Fatalf("annotation %s: %v", name, err)
	}
	return value
}

func TestArtifactHubAnnotationsAreTrue(t *testing.T) {
	m, r := readChart(t), render(t, "")

	t.Run("images are those that the chart installs", func(t *testing.T) {
		var want, got []string
		for _, d := range all[*appsv1.Deployment](r) {
			want = append(want, d.Spec.Template.Spec.Containers[0].Image)
		}
		type image struct {
			Name, Image string
			Platforms   []string
		}
		for _, i := range annotation[[]image](t, m, "images") {
			got = append(got, i.Image)
			if !slices.Equal(i.Platforms, []string{"linux/amd64", "linux/arm64"}) {
				t.Errorf("%s has the platforms %v", i.Name, i.Platforms)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("the annotation names %v, the chart installs %v", got, want)
		}
	})

	t.Run("crds are those of the chart", func(t *testing.T) {
		type crd struct{ Kind, Version, Name, DisplayName, Description string }
		found := annotation[[]crd](t, m, "crds")
		if len(found) != 3 {
			t.Errorf("%d CRDs", len(found))
		}
		for _, c := range found {
			if g := generated(t, c.Name[:len(c.Name)-len(group)-1]); g.Spec.Names.Kind != c.Kind || g.Spec.Versions[0].Name != c.Version || c.Description == "" {
				t.Errorf("the annotation has %+v", c)
			}
		}
	})

	t.Run("examples are those of the folder examples", func(t *testing.T) {
		got := annotation[[]map[string]any](t, m, "crdsExamples")
		files := []string{"etcdcluster.yaml", "etcdbackup-s3.yaml", "etcdrestore-s3.yaml"}
		if len(got) != len(files) {
			t.Fatalf("%d examples, want %d", len(got), len(files))
		}
		for i, file := range files {
			var want map[string]any
			readYAML(t, filepath.Join("../../examples", file), &want)
			if !reflect.DeepEqual(got[i], want) {
				t.Errorf("the example %v differs from %s: %v", got[i], file, want)
			}
		}
	})

	t.Run("each change has a kind that Artifact Hub knows", func(t *testing.T) {
		type change struct{ Kind, Description string }
		changes := annotation[[]change](t, m, "changes")
		if len(changes) == 0 {
			t.Error("no changes")
		}
		for _, c := range changes {
			if !slices.Contains([]string{"added", "changed", "deprecated", "removed", "fixed", "security"}, c.Kind) || c.Description == "" {
				t.Errorf("change %+v", c)
			}
		}
	})
}
