package cluster

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// The images that the cluster itself uses. Two contain busybox: a Pod's sandbox
// only sleeps, and a shell creates the volumes.
const (
	pauseImage = "registry.k8s.io/pause:3.10"
	shellImage = "docker.io/library/busybox:1.36"
	dnsImage   = "registry.k8s.io/coredns/coredns:localkube"
)

// An image has one layer of files and an entrypoint.
type image struct {
	name       string
	entrypoint []string
	files      []imageFile
}

// An imageFile is a copy of a file on this machine, or a symlink.
type imageFile struct {
	path   string // in the image, without a leading slash
	source string
	target string // of a symlink
}

func ownImages(coredns, busybox string, applets []string) []image {
	shell := []imageFile{{path: "bin/busybox", source: busybox}}
	for _, applet := range applets {
		if applet != "busybox" {
			shell = append(shell, imageFile{path: "bin/" + applet, target: "busybox"})
		}
	}
	return []image{
		{name: pauseImage, entrypoint: []string{"/bin/busybox", "sleep", "2147483647"}, files: shell[:1]},
		{name: shellImage, entrypoint: []string{"/bin/sh"}, files: shell},
		{name: dnsImage, entrypoint: []string{"/coredns"}, files: []imageFile{{path: "coredns", source: coredns}}},
	}
}

// writeImages writes the cluster's own images as archives in the format of
// "docker save", one file for each image.
func (c *Cluster) writeImages(ctx context.Context) error {
	busybox, err := findStatic("busybox")
	if err != nil {
		return err
	}
	applets, err := execute(ctx, "", busybox, "--list")
	if err != nil {
		return fmt.Errorf("list the commands of busybox: %w", err)
	}
	for i, img := range ownImages(filepath.Join(c.bin, "coredns"), busybox, strings.Fields(applets)) {
		content, err := img.archive()
		if err != nil {
			return fmt.Errorf("create the image %s: %w", img.name, err)
		}
		if err := writeFile(filepath.Join(c.layout.images(), fmt.Sprintf("%d.tar", i)), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// archive returns the image in the format of "docker save".
func (img image) archive() ([]byte, error) {
	layer, err := img.layer()
	if err != nil {
		return nil, err
	}
	layerDigest := fmt.Sprintf("%x", sha256.Sum256(layer))
	type object = map[string]any
	config, err := json.Marshal(object{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": object{"Entrypoint": img.entrypoint, "Env": []string{"PATH=/bin:/usr/bin:/sbin:/usr/sbin"}, "WorkingDir": "/"},
		"rootfs": object{"type": "layers", "diff_ids": []string{"sha256:" + layerDigest}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the configuration: %w", err)
	}
	configFile := fmt.Sprintf("%x.json", sha256.Sum256(config))
	manifest, err := json.Marshal([]object{{"Config": configFile, "RepoTags": []string{img.name}, "Layers": []string{layerDigest + ".tar"}}})
	if err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	for _, f := range []struct {
		name    string
		content []byte
	}{{configFile, config}, {layerDigest + ".tar", layer}, {"manifest.json", manifest}} {
		if err := addFile(t, f.name, 0o644, f.content); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), t.Close()
}

// layer returns the files as a tar archive. Equal files give equal archives.
func (img image) layer() ([]byte, error) {
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	for _, dir := range []struct {
		name string
		mode int64
	}{{"bin/", 0o755}, {"etc/", 0o755}, {"tmp/", 0o1777}} {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir.name, Mode: dir.mode}); err != nil {
			return nil, fmt.Errorf("add %s: %w", dir.name, err)
		}
	}
	for _, f := range img.files {
		if f.target != "" {
			if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: f.path, Linkname: f.target}); err != nil {
				return nil, fmt.Errorf("add %s: %w", f.path, err)
			}
			continue
		}
		content, err := os.ReadFile(f.source)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.source, err)
		}
		if err := addFile(t, f.path, 0o755, content); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), t.Close()
}

func addFile(t *tar.Writer, name string, mode int64, content []byte) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content))}); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	if _, err := t.Write(content); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	return nil
}
