package cluster

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func newTestCluster() *Cluster {
	return &Cluster{layout: layout{state: "/state"}, bin: "/bin-directory", record: record{Nodes: 3}}
}

// documents renders a file and decodes its YAML documents.
func documents(t *testing.T, name string) []map[string]any {
	t.Helper()
	content, err := render(name, newTestCluster().parameters(2))
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for _, text := range strings.Split(string(content), "\n---\n") {
		var one map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &one); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		all = append(all, one)
	}
	return all
}

func TestRender(t *testing.T) {
	entries, err := fs.ReadDir(confFiles, "conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Run(e.Name()+" is rendered completely and is well-formed", func(t *testing.T) {
			content, err := render(e.Name(), newTestCluster().parameters(2))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(content), "{{") || strings.Contains(string(content), "<no value>") {
				t.Errorf("a parameter was not replaced:\n%s", content)
			}
			switch {
			case strings.HasSuffix(e.Name(), ".yaml"):
				documents(t, e.Name())
			case strings.HasSuffix(e.Name(), ".json"), strings.HasSuffix(e.Name(), ".conflist"):
				if !json.Valid(content) {
					t.Errorf("the file is not valid JSON:\n%s", content)
				}
			}
		})
	}
}

func TestConfiguration(t *testing.T) {
	kubelet := documents(t, "kubelet.yaml")[0]
	t.Run("runs the Pods of a node in the node's cgroup", func(t *testing.T) {
		if got := kubelet["cgroupRoot"]; got != "/lk-node-2" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("allows the kubelet to start on cgroups of version 1", func(t *testing.T) {
		if got := kubelet["failCgroupV1"]; got != false {
			t.Errorf("got %v", got)
		}
	})
	t.Run("disables image garbage collection, because images cannot be pulled again", func(t *testing.T) {
		if got := kubelet["imageGCHighThresholdPercent"]; got != float64(100) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("gives the DNS Service the address that Pods use", func(t *testing.T) {
		for _, o := range documents(t, "addons.yaml") {
			if o["kind"] == "Service" && o["spec"].(map[string]any)["clusterIP"] != kubelet["clusterDNS"].([]any)[0] {
				t.Errorf("the DNS Service has the spec %v, but Pods use %v", o["spec"], kubelet["clusterDNS"])
			}
		}
	})
	t.Run("has one default StorageClass, and all of them bind volumes on the Pod's node", func(t *testing.T) {
		defaults := 0
		for _, o := range documents(t, "addons.yaml") {
			if o["kind"] != "StorageClass" {
				continue
			}
			annotations, _ := o["metadata"].(map[string]any)["annotations"].(map[string]any)
			if annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
				defaults++
			}
			if o["volumeBindingMode"] != "WaitForFirstConsumer" {
				t.Errorf("got %v", o)
			}
		}
		if defaults != 1 {
			t.Errorf("found %d default StorageClasses, expected 1", defaults)
		}
	})
}

func TestOwnImages(t *testing.T) {
	t.Run("contain every image that the configuration names", func(t *testing.T) {
		names := map[string]bool{}
		for _, img := range ownImages("coredns", "busybox", nil) {
			names[img.name] = true
		}
		for _, want := range []string{pauseImage, shellImage, dnsImage} {
			if !names[want] {
				t.Errorf("no image %s", want)
			}
		}
	})
}
