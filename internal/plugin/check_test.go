package plugin

import (
	"errors"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func node(system, arch string) corev1.Node {
	return corev1.Node{Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{OperatingSystem: system, Architecture: arch}}}
}

func fitting() Facts {
	class := storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}}
	class.AllowVolumeExpansion = new(true)
	linux := node("linux", "amd64")
	return Facts{Kubernetes: "v1.36.3", Nodes: []corev1.Node{linux, linux, node("linux", "arm64")}, Classes: []storagev1.StorageClass{class}, Unreadable: map[string]error{}}
}

// An installation that fails half-way leaves CRDs and roles behind. What is missing must be found before.
func TestChecksFindWhatAnInstallationNeeds(t *testing.T) {
	for name, test := range map[string]struct {
		change       func(*Facts)
		check, want  string
		detailHasThe string
	}{
		"all fits":             {func(*Facts) {}, "Kubernetes", Passed, "v1.36.3"},
		"old Kubernetes":       {func(f *Facts) { f.Kubernetes = "v1.29.4-eks-1" }, "Kubernetes", Broken, "1.30"},
		"no Kubernetes":        {func(f *Facts) { f.Kubernetes = "x" }, "Kubernetes", Unknown, "x"},
		"one node":             {func(f *Facts) { f.Nodes = f.Nodes[:1] }, "Nodes", Warning, "three nodes"},
		"only Windows":         {func(f *Facts) { f.Nodes = []corev1.Node{node("windows", "amd64")} }, "Nodes", Broken, "Linux"},
		"nodes not readable":   {func(f *Facts) { f.Unreadable["nodes"] = errors.New("forbidden") }, "Nodes", Unknown, "forbidden"},
		"no default class":     {func(f *Facts) { f.Classes = nil }, "Storage", Warning, "default StorageClass"},
		"class without growth": {func(f *Facts) { f.Classes[0].AllowVolumeExpansion = nil }, "Storage", Warning, "allowVolumeExpansion"},
		"a right is missing":   {func(f *Facts) { f.Denied = []string{"create clusterroles"} }, "Rights", Broken, "clusterroles"},
		"installed already":    {func(f *Facts) { f.Operators = []Running{{Name: "cluster-operator", Namespace: "x"}} }, "Operators", Warning, "namespace x"},
		"another operator":     {func(f *Facts) { f.Groups = []string{"etcd.database.coreos.com"} }, "Operators", Warning, "Another operator"},
	} {
		f := fitting()
		test.change(&f)
		found := false
		for _, c := range Checks(f) {
			if c.Name == test.check {
				found = c.Result == test.want && strings.Contains(c.Detail, test.detailHasThe)
			}
		}
		if !found {
			t.Errorf("%s: %+v", name, Checks(f))
		}
	}
}

// A page and a program that name different versions mislead one of their readers.
func TestTheOldestKubernetesIsThatOfTheManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "| Kubernetes | " + strings.TrimSuffix(oldestKubernetes, ".0") + " and newer |"; !strings.Contains(string(page), want) {
		t.Errorf("docs/install.md does not have %q", want)
	}
}

// A report goes to people outside. Lines about the clusters of other teams must not go with it.
func TestLogsOfOperatorsHaveNoOtherNamespaces(t *testing.T) {
	log := `2026-11-23T12:00:00Z {"msg":"starting"}
2026-11-23T12:00:01Z {"msg":"a","EtcdCluster":{"name":"example","namespace":"ns"},"namespace":"ns"}
2026-11-23T12:00:02Z {"msg":"b","EtcdCluster":{"name":"secret","namespace":"other"},"namespace":"other"}
`
	if got := LinesAbout(log, "ns"); strings.Contains(got, "other") || strings.Count(got, "\n") != 2 {
		t.Error(got)
	}
}
