package chart

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
)

// images returns the images of the operators, and that of the init container that restores a snapshot.
func images(t *testing.T, r release) []string {
	t.Helper()
	var found []string
	for _, d := range all[*appsv1.Deployment](r) {
		found = append(found, d.Spec.Template.Spec.Containers[0].Image)
	}
	slices.Sort(found)
	for _, arg := range r.deployment(t, clusterOperator).Spec.Template.Spec.Containers[0].Args {
		if seed, ok := strings.CutPrefix(arg, "--seed-image="); ok {
			found = append(found, seed)
		}
	}
	return found
}

// A site that reaches one registry only must not have to set the image of each operator. If one of them were forgotten, a restore would
// wait months later for an image that no node can pull.
func TestOneValueNamesTheRegistryAndPathOfAllImages(t *testing.T) {
	under := func(prefix string) []string {
		return []string{prefix + "backup-operator:0.1.0", prefix + "cluster-operator:0.1.0", prefix + "restore-operator:0.1.0", prefix + "restore-operator:0.1.0"}
	}
	for name, test := range map[string]struct {
		values string
		want   []string
	}{
		"the default":                     {"", under("ghcr.io/etcd-suite/")},
		"a registry":                      {"image: {registry: mirror.example.com}", under("mirror.example.com/etcd-suite/")},
		"a registry with a path":          {"image: {registry: mirror.example.com:5000/cache}", under("mirror.example.com:5000/cache/etcd-suite/")},
		"the registry of a parent chart":  {"global: {imageRegistry: mirror.example.com}", under("mirror.example.com/etcd-suite/")},
		"an empty one of a parent chart":  {"global: {imageRegistry: null}", under("ghcr.io/etcd-suite/")},
		"the prefix of make push":         {"image: {prefix: ghcr.io/your-name}", under("ghcr.io/your-name/")},
		"a prefix and a parent's":         {"image: {prefix: mirror.example.com/a/b}\nglobal: {imageRegistry: other.example.com}", under("mirror.example.com/a/b/")},
		"no registry, as it was possible": {`image: {registry: ""}`, under("etcd-suite/")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, images(t, render(t, test.values))); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
		})
	}
}

// A parent chart names the Secrets of its registry once. If this chart ignored them, the operators' Pods could not pull their images.
func TestPullSecretsOfAParentChartAreUsed(t *testing.T) {
	r := render(t, "imagePullSecrets: [{name: own}]\nglobal: {imagePullSecrets: [text, {name: object}, {name: own}]}")
	want := []corev1.LocalObjectReference{{Name: "own"}, {Name: "text"}, {Name: "object"}}
	for _, d := range all[*appsv1.Deployment](r) {
		if diff := cmp.Diff(want, d.Spec.Template.Spec.ImagePullSecrets); diff != "" {
			t.Errorf("%s has other pull secrets (-want +got):\n%s", d.Name, diff)
		}
	}
}

// The values must reach the operator as it reads them. Without them, members pull from quay.io, which such a site does not reach.
func TestTheImageOfEtcdIsAFlagOnlyIfItIsSet(t *testing.T) {
	for values, want := range map[string]cluster.Options{
		"": {},
		"clusterOperator: {etcdImage: {repository: \"mirror.example.com:5000/coreos/etcd\", pullSecrets: [one, two]}}": {
			EtcdRepository: "mirror.example.com:5000/coreos/etcd", EtcdPullSecrets: []string{"one", "two"},
		},
		"clusterOperator: {etcdImage: null}": {}, // helm upgrade --reuse-values keeps the values of a chart without it
	} {
		args := render(t, values).deployment(t, clusterOperator).Spec.Template.Spec.Containers[0].Args
		var got cluster.Options
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.ParseErrorsAllowlist.UnknownFlags = true
		got.AddFlags(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		if got.EtcdRepository != want.EtcdRepository || !slices.Equal(got.EtcdPullSecrets, want.EtcdPullSecrets) {
			t.Errorf("%q gives the arguments %q", values, args)
		}
		if given := strings.Contains(strings.Join(args, " "), "--etcd-"); given != (want.EtcdRepository != "") {
			t.Errorf("%q: the Deployment names an image of etcd: %t, arguments %q", values, given, args)
		}
	}
}

// A tag in the repository would give members an image that no runtime accepts, and every cluster would wait for its Pods.
func TestAnImageOfEtcdWithATagIsRefused(t *testing.T) {
	for values, want := range map[string]string{
		"clusterOperator: {etcdImage: {repository: \"mirror.example.com/etcd:v3.6.16\"}}": "at '/clusterOperator/etcdImage/repository'",
		"clusterOperator: {etcdImage: {pullSecrets: [{name: mirror}]}}":                   "at '/clusterOperator/etcdImage/pullSecrets/0'",
		"global: {imageRegistry: [mirror.example.com]}":                                   "at '/global/imageRegistry'",
	} {
		if out, err := template(t, values); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: error %v\n%s", values, err, out)
		}
	}
}

// Who copies the images of the list into a mirror without a connection to the others must not find out from a failed Pod that one was missing.
func TestTheListOfImagesToMirrorIsComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## A mirrored registry\n")
	section, _, _ = strings.Cut(section, "\n## ")
	want := images(t, render(t, ""))
	want = append(want, v1beta2.DefaultRepository+":v"+v1beta2.DefaultVersion)
	store, err := os.ReadFile("../../examples/store/store.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`(?m)^\s*(?:- )?image: (\S+)$`).FindAllStringSubmatch(string(store), -1) {
		want = append(want, match[1])
	}
	for _, image := range want {
		if !strings.Contains(section, image) {
			t.Errorf("docs/install.md does not name the image %s", image)
		}
	}
	if len(want) < 6 {
		t.Errorf("the test looked for the images %q only", want)
	}
}
