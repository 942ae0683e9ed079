package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// fakeProgram writes the smallest static Linux program: an ELF header, and content that distinguishes programs.
func fakeProgram(t *testing.T, path string, machine elf.Machine, content string) string {
	t.Helper()
	return writeProgram(t, path, machine, content)
}

func writeProgram(t *testing.T, path string, machine elf.Machine, content string, segments ...elf.Prog64) string {
	t.Helper()
	header := elf.Header64{
		Ident:   [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:    uint16(elf.ET_EXEC),
		Machine: uint16(machine),
		Version: uint32(elf.EV_CURRENT),
		Ehsize:  64,
	}
	if len(segments) > 0 {
		header.Phoff, header.Phentsize, header.Phnum = 64, 56, uint16(len(segments))
	}
	var file bytes.Buffer
	if err := errors.Join(binary.Write(&file, binary.LittleEndian, header), binary.Write(&file, binary.LittleEndian, segments)); err != nil {
		t.Fatal(err)
	}
	file.WriteString(content)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// opened is an archive as a runtime reads it.
type opened struct {
	index  v1.IndexManifest
	blobs  map[string][]byte // by hex digest
	layout string
}

func open(t *testing.T, path string) opened {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o := opened{blobs: map[string][]byte{}}
	for name, f := range untar(t, raw) {
		switch {
		case name == "index.json":
			decode(t, f.data, &o.index)
		case name == "oci-layout":
			o.layout = string(f.data)
		case strings.HasPrefix(name, "blobs/sha256/") && !strings.HasSuffix(name, "/"):
			sum := sha256.Sum256(f.data)
			if got := hex.EncodeToString(sum[:]); got != filepath.Base(name) {
				t.Errorf("blob %s has the digest %s", name, got)
			}
			o.blobs[filepath.Base(name)] = f.data
		}
	}
	return o
}

type file struct {
	header tar.Header
	data   []byte
}

func untar(t *testing.T, raw []byte) map[string]file {
	t.Helper()
	files := map[string]file{}
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(epoch) {
			t.Errorf("%s has the time %s, want the epoch", header.Name, header.ModTime)
		}
		files[header.Name] = file{header: *header, data: data}
	}
}

func decode(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("decode %T: %v\n%s", into, err, raw)
	}
}

// image returns the config and the files of the image that desc names.
func (o opened) image(t *testing.T, desc v1.Descriptor) (v1.ConfigFile, v1.Manifest, map[string]file) {
	t.Helper()
	var manifest v1.Manifest
	decode(t, o.blobs[desc.Digest.Hex], &manifest)
	var config v1.ConfigFile
	decode(t, o.blobs[manifest.Config.Digest.Hex], &config)
	files := map[string]file{}
	for _, l := range manifest.Layers {
		unzipped, err := gzip.NewReader(bytes.NewReader(o.blobs[l.Digest.Hex]))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(unzipped)
		if err != nil {
			t.Fatal(err)
		}
		for name, f := range untar(t, raw) {
			files[name] = f
		}
	}
	return config, manifest, files
}

// runImages runs the command with a small CA bundle and returns the output
// directory.
func runImages(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out := t.TempDir()
	bundle := filepath.Join(out, "ca.pem")
	if err := os.WriteFile(bundle, []byte("PEM\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"--out", out, "--ca-bundle", bundle, "--version", "1.2.3"}, args...)
	return out, run(t.Context(), args, io.Discard)
}

func TestProgramImageHasProgramConfigAndName(t *testing.T) {
	dir := t.TempDir()
	program := fakeProgram(t, filepath.Join(dir, "gateway"), elf.EM_X86_64, "one")

	t.Run("the first program is the entrypoint and runs as a numeric non-root user with a home, /tmp and CA certificates", func(t *testing.T) {
		out, err := runImages(t, "--program", "example.com:5000/gateway:v1="+program)
		if err != nil {
			t.Fatal(err)
		}
		o := open(t, filepath.Join(out, "gateway-v1.tar"))
		config, _, files := o.image(t, o.index.Manifests[0])
		want := v1.Config{
			Entrypoint: []string{"/usr/local/bin/gateway"},
			User:       "65532:65532",
			WorkingDir: "/",
			Env:        []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/nonroot", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		}
		config.Config.Labels = nil
		if diff := cmp.Diff(want, config.Config); diff != "" {
			t.Errorf("config (-want +got):\n%s", diff)
		}
		for name, want := range map[string]string{
			"tmp/":                              "1777 0:0",
			"home/nonroot/":                     "700 65532:65532",
			"usr/local/bin/gateway":             "755 0:0",
			"etc/ssl/certs/ca-certificates.crt": "644 0:0",
			"etc/passwd":                        "644 0:0",
			"etc/group":                         "644 0:0",
			"etc/":                              "755 0:0",
			"usr/local/":                        "755 0:0",
		} {
			h := files[name].header
			if got := fmt.Sprintf("%o %d:%d", h.Mode, h.Uid, h.Gid); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		if got := string(files["etc/ssl/certs/ca-certificates.crt"].data); got != "PEM\n" {
			t.Errorf("CA bundle is %q", got)
		}
		if !strings.Contains(string(files["etc/passwd"].data), "nonroot:x:65532:65532:") {
			t.Errorf("no user nonroot in %s", files["etc/passwd"].data)
		}
		if got := files["usr/local/bin/gateway"].data; !bytes.HasSuffix(got, []byte("one")) {
			t.Errorf("the program's bytes are not those of the file")
		}
	})

	t.Run("the annotations have the full name for containerd and the tag for the OCI layout", func(t *testing.T) {
		out, err := runImages(t, "--program", "example.com:5000/gateway:v1="+program)
		if err != nil {
			t.Fatal(err)
		}
		o := open(t, filepath.Join(out, "gateway-v1.tar"))
		want := map[string]string{"io.containerd.image.name": "example.com:5000/gateway:v1", "org.opencontainers.image.ref.name": "v1"}
		if diff := cmp.Diff(want, o.index.Manifests[0].Annotations); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
		if !strings.Contains(o.layout, `"imageLayoutVersion":"1.0.0"`) {
			t.Errorf("oci-layout is %q", o.layout)
		}
		if p := o.index.Manifests[0].Platform; p == nil || p.String() != "linux/amd64" {
			t.Errorf("platform is %v", p)
		}
	})

	t.Run("all referenced blobs exist with the stated size", func(t *testing.T) {
		out, err := runImages(t, "--program", "gateway:v1="+program)
		if err != nil {
			t.Fatal(err)
		}
		o := open(t, filepath.Join(out, "gateway-v1.tar"))
		config, manifest, _ := o.image(t, o.index.Manifests[0])
		for _, desc := range append(manifest.Layers, manifest.Config, o.index.Manifests[0]) {
			if got := int64(len(o.blobs[desc.Digest.Hex])); got != desc.Size {
				t.Errorf("blob %s has %d bytes, the manifest says %d", desc.Digest, got, desc.Size)
			}
		}
		for i, l := range manifest.Layers {
			unzipped, err := gzip.NewReader(bytes.NewReader(o.blobs[l.Digest.Hex]))
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.New()
			if _, err := io.Copy(sum, unzipped); err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(sum.Sum(nil)); got != config.RootFS.DiffIDs[i].Hex {
				t.Errorf("layer %d has the diff ID %s, the config says %s", i, got, config.RootFS.DiffIDs[i].Hex)
			}
		}
	})

	t.Run("the bytes depend only on the content of the files", func(t *testing.T) {
		read := func(file string) string {
			out, err := runImages(t, "--program", "gateway:v1="+file)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(filepath.Join(out, "gateway-v1.tar"))
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		first := read(program)
		again := fakeProgram(t, filepath.Join(t.TempDir(), "gateway"), elf.EM_X86_64, "one")
		old := time.Now().Add(-time.Hour)
		if err := errors.Join(os.Chtimes(again, old, old), os.Chmod(again, 0o755)); err != nil {
			t.Fatal(err)
		}
		if read(again) != first {
			t.Error("two builds of the same program differ")
		}
		if read(fakeProgram(t, filepath.Join(t.TempDir(), "gateway"), elf.EM_X86_64, "two")) == first {
			t.Error("another program gives the same archive")
		}
	})

	t.Run("the etcd image has a command, no entrypoint, no user and a data directory, as upstream's", func(t *testing.T) {
		dir := t.TempDir()
		for _, name := range []string{"etcd", "etcdctl", "etcdutl"} {
			fakeProgram(t, filepath.Join(dir, name), elf.EM_AARCH64, name)
		}
		out, err := runImages(t, "etcd-3.6.16="+dir)
		if err != nil {
			t.Fatal(err)
		}
		o := open(t, filepath.Join(out, "etcd-3.6.16.tar"))
		if got := o.index.Manifests[0].Annotations["io.containerd.image.name"]; got != "quay.io/coreos/etcd:v3.6.16" {
			t.Errorf("name is %q", got)
		}
		config, _, files := o.image(t, o.index.Manifests[0])
		c := config.Config
		if c.User != "" || len(c.Entrypoint) != 0 || !cmp.Equal(c.Cmd, []string{"/usr/local/bin/etcd"}) || c.WorkingDir != "/var/lib/etcd" {
			t.Errorf("config is %+v", c)
		}
		if config.Architecture != "arm64" {
			t.Errorf("architecture is %q, the files are for arm64", config.Architecture)
		}
		for _, name := range []string{"usr/local/bin/etcd", "usr/local/bin/etcdctl", "usr/local/bin/etcdutl", "var/lib/etcd/"} {
			if _, ok := files[name]; !ok {
				t.Errorf("no %s", name)
			}
		}
	})

	t.Run("the etcd 3.4 image has no etcdutl", func(t *testing.T) {
		dir := t.TempDir()
		for _, name := range []string{"etcd", "etcdctl"} {
			fakeProgram(t, filepath.Join(dir, name), elf.EM_X86_64, name)
		}
		out, err := runImages(t, "etcd-3.4.15="+dir)
		if err != nil {
			t.Fatal(err)
		}
		o := open(t, filepath.Join(out, "etcd-3.4.15.tar"))
		if _, _, files := o.image(t, o.index.Manifests[0]); len(files) == 0 {
			t.Error("no files")
		}
	})
}

func TestOperatorImageHasPlatformsAndVersion(t *testing.T) {
	pack := func(t *testing.T, archs []string) opened {
		t.Helper()
		dir, out := t.TempDir(), t.TempDir()
		b := &builder{
			opts:   options{out: out, archs: archs, version: "1.2.3", registry: "ghcr.io/etcd-suite"},
			origin: origin{revision: "abc", created: time.Unix(1_700_000_000, 0)},
			bins:   map[string]string{"amd64": dir + "/amd64", "arm64": dir + "/arm64"},
			stdout: io.Discard,
		}
		fakeProgram(t, dir+"/amd64/backup-operator", elf.EM_X86_64, "x")
		fakeProgram(t, dir+"/arm64/backup-operator", elf.EM_AARCH64, "a")
		var err error
		if b.base, err = baseLayer([]byte("PEM\n")); err != nil {
			t.Fatal(err)
		}
		if err := b.pack(t.Context(), target{kind: operatorImage, name: "backup-operator"}); err != nil {
			t.Fatal(err)
		}
		return open(t, filepath.Join(out, "backup-operator.tar"))
	}

	t.Run("several architectures share one index and the base layer", func(t *testing.T) {
		o := pack(t, []string{"amd64", "arm64"})
		root := o.index.Manifests[0]
		if got := root.Annotations["io.containerd.image.name"]; got != "ghcr.io/etcd-suite/backup-operator:1.2.3" || root.Platform != nil {
			t.Errorf("root is %+v", root)
		}
		var index v1.IndexManifest
		decode(t, o.blobs[root.Digest.Hex], &index)
		var platforms []string
		for _, desc := range index.Manifests {
			config, _, _ := o.image(t, desc)
			platforms = append(platforms, desc.Platform.String()+" "+config.Architecture)
		}
		if diff := cmp.Diff([]string{"linux/amd64 amd64", "linux/arm64 arm64"}, platforms); diff != "" {
			t.Errorf("platforms (-want +got):\n%s", diff)
		}
		// 1 index, and of each architecture manifest, config and program layer, and the base layer.
		if got := len(o.blobs); got != 1+2*3+1 {
			t.Errorf("%d blobs, want 8", got)
		}
	})

	t.Run("the image has version, commit and commit time", func(t *testing.T) {
		o := pack(t, []string{"amd64"})
		config, manifest, _ := o.image(t, o.index.Manifests[0])
		want := map[string]string{
			"org.opencontainers.image.title":       "backup-operator",
			"org.opencontainers.image.description": "The backup-operator of the etcd operator suite",
			"org.opencontainers.image.version":     "1.2.3",
			"org.opencontainers.image.revision":    "abc",
			"org.opencontainers.image.created":     "2023-11-14T22:13:20Z",
			"org.opencontainers.image.source":      repositoryURL,
			"org.opencontainers.image.url":         repositoryURL,
			"org.opencontainers.image.licenses":    "Apache-2.0",
		}
		if diff := cmp.Diff(want, manifest.Annotations); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, config.Config.Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		if config.Config.User != "65532:65532" || !cmp.Equal(config.Config.Entrypoint, []string{"/usr/local/bin/backup-operator"}) {
			t.Errorf("config is %+v", config.Config)
		}
	})
}

func TestShortNamesGetTheSameRegistryAsInTheKubelet(t *testing.T) {
	for in, want := range map[string]string{
		"gateway:v1=f":                "docker.io/library/gateway:v1",
		"versity/gateway:v1=f":        "docker.io/versity/gateway:v1",
		"localhost/gateway:v1=f":      "localhost/gateway:v1",
		"localhost:5000/x/g:v1=f":     "localhost:5000/x/g:v1",
		"ghcr.io/versity/gateway:1=f": "ghcr.io/versity/gateway:1",
	} {
		if got, err := parseProgram(in); err != nil || got.ref != want {
			t.Errorf("%s is %q, %v, want %q", in, got.ref, err, want)
		}
	}
}

func TestInvalidArgumentsAreRejectedWithAdvice(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	x86 := fakeProgram(t, filepath.Join(dir, "x86"), elf.EM_X86_64, "")
	arm := fakeProgram(t, filepath.Join(dir, "arm"), elf.EM_AARCH64, "")
	dynamic := writeProgram(t, filepath.Join(dir, "dynamic"), elf.EM_X86_64, "", elf.Prog64{Type: uint32(elf.PT_INTERP)})
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no name":                         {nil, "no image is named"},
		"an unknown name":                 {[]string{"etcd-operator"}, "want cluster-operator, backup-operator, restore-operator, or etcd-VERSION=DIR"},
		"an etcd version without a patch": {[]string{"etcd-3.6=" + dir}, "unknown image"},
		"a program without a tag":         {[]string{"--program", "localhost:5000/x=" + x86}, "want NAME:TAG=FILE[,FILE]"},
		"a program without a file":        {[]string{"--program", "x:v1="}, "want NAME:TAG=FILE[,FILE]"},
		"a file that does not exist":      {[]string{"--program", "x:v1=" + dir + "/absent"}, "no such file"},
		"a script":                        {[]string{"--program", "x:v1=" + script}, "not a Linux program"},
		"a dynamically linked program":    {[]string{"--program", "x:v1=" + dynamic}, "build it with CGO_ENABLED=0"},
		"programs of two architectures":   {[]string{"--program", "x:v1=" + x86 + "," + arm}, "is for amd64"},
		"the same name twice":             {[]string{"backup-operator", "backup-operator"}, "named twice"},
		"an unknown architecture":         {[]string{"--arch", "s390x", "backup-operator"}, "want amd64 or arm64"},
		"a version that is not a tag":     {[]string{"--version", "1 2", "backup-operator"}, "is not a valid image tag"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := runImages(t, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestDefaultVersionIsTheChartsAppVersion(t *testing.T) {
	chart := filepath.Join(t.TempDir(), "Chart.yaml")
	if err := os.WriteFile(chart, []byte("apiVersion: v2\nversion: 9.9.9\nappVersion: \"0.7.0\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := appVersion(chart); err != nil || got != "0.7.0" {
		t.Errorf("appVersion is %q, %v", got, err)
	}
}

func TestKeptProgramsAreThoseOfTheImages(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	program := fakeProgram(t, filepath.Join(dir, "backup-operator"), elf.EM_AARCH64, "kept")
	b := &builder{opts: options{keep: out}, bins: map[string]string{"arm64": dir}}
	if err := b.keep([]target{{kind: operatorImage, name: "backup-operator"}, {kind: etcdImage, name: "etcd"}}); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(out, "backup-operator-linux-arm64")
	got, err := os.ReadFile(kept)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the kept program differs, error %v", err)
	}
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the kept program has the mode %v, error %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) != 1 {
		t.Errorf("%d files are kept, want 1, error %v", len(entries), err)
	}
}
