package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// serve starts a registry on loopback and returns its host and port.
func serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// writeImage writes an archive as hack/images does: a layout with one index of two architectures. The name of the file decides its content.
func writeImage(t *testing.T, path string) v1.Hash {
	t.Helper()
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	seed := int64(0)
	for _, c := range filepath.Base(path) {
		seed = seed*31 + int64(c)
	}
	source := rand.NewSource(seed)
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := random.Image(64, 1, random.WithSource(source))
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	dir := t.TempDir()
	if _, err := layout.Write(dir, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index})); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	archive := tar.NewWriter(out)
	if err := archive.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestPushSendsImagesOfAllArchitecturesAndTheChart(t *testing.T) {
	r, files := rendered(t)
	want := map[string]v1.Hash{}
	for _, operator := range operators {
		want[operator] = writeImage(t, r.path(r.archive(operator)))
		if image := "image: \"ghcr.io/etcd-suite/" + operator + "@" + want[operator].String() + "\""; !strings.Contains(files["install.yaml"], image) {
			t.Errorf("install.yaml does not select %s, so an overwritten tag would run", image)
		}
	}
	host := serve(t)
	opts := options{from: r.dir, registry: host + "/etcd-suite", helm: program(t, "helm"), digests: filepath.Join(t.TempDir(), "digests.txt")}
	var out bytes.Buffer
	if err := push(t.Context(), opts, &out); err != nil {
		t.Fatal(err)
	}

	for _, operator := range operators {
		ref, err := name.ParseReference(fmt.Sprintf("%s/etcd-suite/%s:%s", host, operator, r.version))
		if err != nil {
			t.Fatal(err)
		}
		index, err := remote.Index(ref)
		if err != nil {
			t.Fatalf("the registry has no index %s: %v", ref, err)
		}
		list, err := index.IndexManifest()
		if err != nil || len(list.Manifests) != 2 || list.Manifests[1].Platform.Architecture != "arm64" {
			t.Errorf("%s has the images %+v, error %v", operator, list, err)
		}
		digest, _ := index.Digest()
		if digest != want[operator] || !strings.Contains(out.String(), operator+" "+digest.String()+"\n") {
			t.Errorf("%s was pushed as %s, but built as %s; reported:\n%s", operator, digest, want[operator], out.String())
		}
	}

	pulled := t.TempDir()
	helm := exec.CommandContext(t.Context(), opts.helm, "pull", "oci://"+host+"/etcd-suite/charts/etcd-operator", "--version", r.version, "--plain-http", "--destination", pulled)
	if text, err := helm.CombinedOutput(); err != nil {
		t.Fatalf("helm pull: %v\n%s", err, text)
	}
	got, err := os.ReadFile(filepath.Join(pulled, r.chartFile()))
	built, _ := os.ReadFile(r.path(r.chartFile()))
	if err != nil || !bytes.Equal(got, built) {
		t.Errorf("the pulled chart differs from the built one, error %v", err)
	}
	digests, _ := os.ReadFile(opts.digests)
	if lines := strings.Count(string(digests), "\n"); lines != 5 || !strings.HasPrefix(out.String(), string(digests)) {
		t.Errorf("%d digests, want 5:\n%s\nreported:\n%s", lines, digests, out.String())
	}
}

// Who pushes to a registry of their own copies the command that make push prints. With a value that does not fit, the Pods would pull
// images that do not exist.
func TestPushPrintsTheValuesThatFit(t *testing.T) {
	r, _ := rendered(t)
	host := serve(t)
	for registry, set := range map[string]bool{"ghcr.io/etcd-suite": false, host + "/etcd-suite": true, host + "/your-name": true, host + "/a/b": true} {
		command := installCommand(registry, r.version)
		if strings.Contains(command, "image.prefix") != set {
			t.Errorf("the command for %s is %s", registry, command)
		}
		if !strings.HasPrefix(registry, host) {
			continue
		}
		var out bytes.Buffer
		opts := options{from: r.dir, registry: registry, helm: program(t, "helm"), digests: filepath.Join(t.TempDir(), "digests.txt")}
		if err := push(t.Context(), opts, &out); err != nil {
			t.Fatal(err)
		}
		_, printed, _ := strings.Cut(out.String(), "\n  helm upgrade --install ")
		args := append([]string{"template", "--plain-http"}, strings.Fields(strings.ReplaceAll(printed, "--wait --timeout 5m", ""))...)
		text, err := exec.CommandContext(t.Context(), opts.helm, args...).Output()
		if err != nil {
			t.Fatalf("helm %q: %v", args, err)
		}
		for _, operator := range operators {
			if want := "image: \"" + registry + "/" + operator + "@sha256:"; !strings.Contains(string(text), want) {
				t.Errorf("with the printed values, no Pod has %s", want)
			}
		}
	}
}

func TestAnImageOfOneArchitectureIsNotPushed(t *testing.T) {
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "image.tar")
	if _, err := layout.Write(dir, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image})); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	if err := archive.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	_ = archive.Close()
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pushImage(t.Context(), path, serve(t)+"/x:1"); err == nil || !strings.Contains(err.Error(), "several architectures") {
		t.Errorf("error %v", err)
	}
}

func TestOnlyLoopbackIsUsedWithoutTLS(t *testing.T) {
	for registry, want := range map[string]bool{
		"127.0.0.1:5000/x": true, "localhost:5000": true, "[::1]:5000/x": true, "ghcr.io/etcd-suite": false, "10.0.0.1:5000": false, "localhost.example.com/x": false,
	} {
		if got := loopback(registry); got != want {
			t.Errorf("loopback(%q) = %t, want %t", registry, got, want)
		}
	}
}
