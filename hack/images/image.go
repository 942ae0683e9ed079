package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	programDir = "/usr/local/bin"
	caFile     = "/etc/ssl/certs/ca-certificates.crt"
	homeDir    = "/home/nonroot"

	passwd = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"
	group  = "root:x:0:\nnonroot:x:65532:\n"
)

// A stamp is the metadata about the origin of an image.
type stamp struct {
	title, description, version string
	revision                    string // commit; empty for programs of other projects
	created                     time.Time
	source, licenses            string
}

func (s stamp) annotations() map[string]string {
	annotations := map[string]string{"org.opencontainers.image.created": s.created.UTC().Format(time.RFC3339)}
	for key, value := range map[string]string{
		"title": s.title, "description": s.description, "version": s.version,
		"revision": s.revision, "source": s.source, "url": s.source, "licenses": s.licenses,
	} {
		if value != "" {
			annotations["org.opencontainers.image."+key] = value
		}
	}
	return annotations
}

// baseLayer returns the layer below all programs: users, CA certificates, and a world-writable /tmp.
func baseLayer(caBundle []byte) (*layer, error) {
	return newLayer([]entry{
		{path: "/etc/passwd", mode: 0o644, data: []byte(passwd)},
		{path: "/etc/group", mode: 0o644, data: []byte(group)},
		{path: caFile, mode: 0o644, data: caBundle},
		{path: homeDir, mode: 0o700, owner: nonroot, dir: true},
		{path: "/tmp", mode: 0o1777, dir: true},
	})
}

// programLayer returns a layer with the files in /usr/local/bin.
func programLayer(k kind, files []string) (*layer, error) {
	var entries []entry
	for _, file := range files {
		entries = append(entries, entry{path: path.Join(programDir, filepath.Base(file)), mode: 0o755, file: file})
	}
	if k == etcdImage {
		entries = append(entries,
			entry{path: "/var/etcd", mode: 0o755, dir: true},
			entry{path: "/var/lib/etcd", mode: 0o755, dir: true})
	}
	return newLayer(entries)
}

// config returns the program, user and environment of an image. That of etcd equals upstream's Dockerfile: a command
// without an entrypoint and without a user. So a Pod that relies on anything else fails in tests as it would with
// upstream's image.
func config(k kind, program string) v1.Config {
	program = path.Join(programDir, program)
	switch k {
	case etcdImage:
		return v1.Config{
			Env:          []string{"PATH=" + programDir + ":/usr/bin:/bin", "SSL_CERT_FILE=" + caFile},
			Cmd:          []string{program},
			WorkingDir:   "/var/lib/etcd",
			ExposedPorts: map[string]struct{}{"2379/tcp": {}, "2380/tcp": {}},
		}
	default:
		user := strconv.Itoa(nonroot)
		return v1.Config{
			Env:        []string{"PATH=" + programDir + ":/usr/bin:/bin", "HOME=" + homeDir, "SSL_CERT_FILE=" + caFile},
			Entrypoint: []string{program},
			User:       user + ":" + user,
			WorkingDir: "/",
		}
	}
}

// newImage returns an image for one architecture.
func newImage(arch string, cfg v1.Config, s stamp, layers ...v1.Layer) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	adds := make([]mutate.Addendum, 0, len(layers))
	for _, l := range layers {
		adds = append(adds, mutate.Addendum{
			Layer:   l,
			History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "hack/images", Comment: s.title},
		})
	}
	img, err := mutate.Append(img, adds...)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", arch, v1.Time{Time: s.created.UTC()}
	cfg.Labels = s.annotations() // docker inspect shows labels, not annotations
	file.Config = cfg
	if img, err = mutate.ConfigFile(img, file); err != nil {
		return nil, err
	}
	annotated, ok := mutate.Annotations(img, s.annotations()).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("annotate %s: not an image", s.title)
	}
	return annotated, nil
}

// newIndex returns an index of the images of one program for several architectures, in the given order.
func newIndex(archs []string, images []v1.Image, s stamp) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, img := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: archs[i]}},
		})
	}
	annotated, ok := mutate.Annotations(index, s.annotations()).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("annotate %s: not an index", s.title)
	}
	return annotated, nil
}
