// Package programs builds the programs that the local Kubernetes and the
// tests run, and keeps them in a cache that all clones share.
//
// A module is a folder next to this file. It has a go.mod, whose tool directives
// list the packages, and a go.sum. The product's module depends on none of them.
package programs

import (
	"fmt"
	"sort"
	"strings"
	"time"
)

// A Module is one folder of pinned programs, built together.
type Module struct {
	Name     string        // the folder's name
	Programs []Program     // in the order of the go.mod's tool directives
	LDFlags  string        // added to -s -w
	Cold     time.Duration // estimated time of a build without a build cache on two cores
	Suffix   string        // suffix of a second name in the bin directory: "etcd" is also "etcd-3.6"
	Plain    bool          // whether the bin directory has the programs under their plain names
	Folder   string        // folder inside the bin directory; empty is the bin directory itself
	ForUp    bool          // whether the local Kubernetes needs it
	NPM      bool          // whether npm installs it: the folder has a package.json and a package-lock.json
}

// A Program is one main package, or one command of an npm package, and the name of its executable.
type Program struct {
	Package, File string
}

const kubernetesVersion = "v1.36.3"

// kubernetesLDFlags sets the version as Kubernetes' own build does. Without it
// the API server reports v0.0.0, and Helm refuses charts with a kubeVersion.
const kubernetesLDFlags = "-X k8s.io/component-base/version.gitVersion=" + kubernetesVersion +
	" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36" +
	" -X k8s.io/client-go/pkg/version.gitVersion=" + kubernetesVersion

// Modules lists every module, the longest builds of the local Kubernetes first.
func Modules() []Module {
	return []Module{
		{Name: "kubernetes", LDFlags: kubernetesLDFlags, Cold: 7*time.Minute + 30*time.Second, Plain: true, ForUp: true, Programs: []Program{
			{"k8s.io/kubernetes/cmd/kube-apiserver", "kube-apiserver"},
			{"k8s.io/kubernetes/cmd/kube-controller-manager", "kube-controller-manager"},
			{"k8s.io/kubernetes/cmd/kube-proxy", "kube-proxy"},
			{"k8s.io/kubernetes/cmd/kube-scheduler", "kube-scheduler"},
			{"k8s.io/kubernetes/cmd/kubectl", "kubectl"},
			{"k8s.io/kubernetes/cmd/kubelet", "kubelet"},
		}},
		{Name: "containerd", Cold: 65 * time.Second, Plain: true, ForUp: true, Programs: []Program{
			{"github.com/containerd/containerd/v2/cmd/containerd", "containerd"},
			{"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", "containerd-shim-runc-v2"},
			{"github.com/containerd/containerd/v2/cmd/ctr", "ctr"},
		}},
		{Name: "coredns", Cold: 2 * time.Minute, Plain: true, ForUp: true, Programs: []Program{
			{"localkube/coredns", "coredns"},
		}},
		{Name: "directories", Cold: time.Minute, Plain: true, ForUp: true, Programs: []Program{{"localkube/directories", "directory-provisioner"}}},
		etcd("3.6", true),
		{Name: "cni", Cold: 5 * time.Second, Plain: true, Folder: "cni", ForUp: true, Programs: []Program{
			{"github.com/containernetworking/plugins/plugins/ipam/host-local", "host-local"},
			{"github.com/containernetworking/plugins/plugins/main/loopback", "loopback"},
			{"github.com/containernetworking/plugins/plugins/main/ptp", "ptp"},
		}},
		{Name: "local-path", Cold: 2 * time.Minute, Plain: true, Programs: []Program{
			{"github.com/rancher/local-path-provisioner", "local-path-provisioner"},
		}},
		{Name: "helm", Cold: 3 * time.Minute, Plain: true, Programs: []Program{{"helm.sh/helm/v4/cmd/helm", "helm"}}},
		{Name: "versitygw", Cold: 90 * time.Second, Plain: true, Programs: []Program{{"github.com/versity/versitygw/cmd/versitygw", "versitygw"}}},
		{Name: "fake-gcs", Cold: time.Minute, Plain: true, Programs: []Program{{"github.com/fsouza/fake-gcs-server", "fake-gcs-server"}}},
		{Name: "azurite", Cold: 90 * time.Second, Plain: true, NPM: true, Programs: []Program{{"azurite-blob", "azurite-blob"}}},
		{Name: "cert-manager", Cold: 2 * time.Minute, Programs: []Program{{"localkube/cert-manager", "cert-manager"}}},
		// The module paths of 3.4 have no major version, and etcdutl exists since 3.5.
		{Name: "etcd-3.4", Suffix: "-3.4", Cold: 40 * time.Second, Programs: []Program{
			{"go.etcd.io/etcd/etcdctl", "etcdctl"},
			{"go.etcd.io/etcd", "etcd"},
		}},
		etcd("3.5", false),
		etcd("3.7", false),
	}
}

func etcd(minor string, local bool) Module {
	return Module{
		Name: "etcd-" + minor, Suffix: "-" + minor, Plain: local, ForUp: local, Cold: 30 * time.Second,
		Programs: []Program{
			{"go.etcd.io/etcd/etcdctl/v3", "etcdctl"},
			{"go.etcd.io/etcd/etcdutl/v3", "etcdutl"},
			{"go.etcd.io/etcd/server/v3", "etcd"},
		},
	}
}

// Select returns the modules with these names, in the order of Modules. Without
// names it returns those that the local Kubernetes needs; "all" selects every one.
func Select(names ...string) ([]Module, error) {
	want := map[string]bool{}
	for _, name := range names {
		want[name] = true
	}
	var selected []Module
	var known []string
	for _, m := range Modules() {
		known = append(known, m.Name)
		if want[m.Name] || want["all"] || (len(names) == 0 && m.ForUp) {
			selected = append(selected, m)
		}
		delete(want, m.Name)
	}
	delete(want, "all")
	if len(want) > 0 {
		return nil, fmt.Errorf("unknown program module %s: valid names are all, %s", strings.Join(sorted(want), ", "), strings.Join(known, ", "))
	}
	return selected, nil
}

func (m Module) packages() []string {
	var packages []string
	for _, p := range m.Programs {
		packages = append(packages, p.Package)
	}
	return packages
}

// Links maps each name in the bin directory to the file in the module's own
// directory that it links to.
func (m Module) Links() map[string]string {
	links := map[string]string{}
	for _, p := range m.Programs {
		if m.Plain {
			links[m.path(p.File)] = p.File
		}
		if m.Suffix != "" {
			links[m.path(p.File+m.Suffix)] = p.File
		}
	}
	return links
}

func (m Module) path(file string) string {
	if m.Folder == "" {
		return file
	}
	return m.Folder + "/" + file
}

func sorted(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// pins are the two files that decide what is built of a module.
func (m Module) pins() (list, sums string) {
	if m.NPM {
		return "package.json", "package-lock.json"
	}
	return "go.mod", "go.sum"
}
