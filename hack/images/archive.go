package main

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// An archive is one named image that can be written as an OCI image layout in a tar file: oci-layout, index.json, and
// each blob once.
type archive struct {
	ref   string
	root  v1.Descriptor
	blobs []blob // each blob comes after the blobs that it references
}

type blob struct {
	digest v1.Hash
	size   int64
	open   func() (io.ReadCloser, error)
}

// newArchive returns an archive with a single image, or with an index of several images.
func newArchive(ref string, archs []string, images []v1.Image, s stamp) (*archive, error) {
	a := &archive{ref: ref}
	for _, img := range images {
		if err := a.addImage(img); err != nil {
			return nil, fmt.Errorf("collect the blobs of %s: %w", ref, err)
		}
	}
	var root partial.Describable = images[0]
	if len(images) > 1 {
		index, err := newIndex(archs, images, s)
		if err != nil {
			return nil, err
		}
		if err := a.addRaw(index); err != nil {
			return nil, fmt.Errorf("collect the index of %s: %w", ref, err)
		}
		root = index
	}
	desc, err := partial.Descriptor(root)
	if err != nil {
		return nil, err
	}
	a.root = v1.Descriptor{MediaType: desc.MediaType, Digest: desc.Digest, Size: desc.Size, Annotations: nameAnnotations(ref)}
	if len(images) == 1 {
		a.root.Platform = &v1.Platform{OS: "linux", Architecture: archs[0]}
	}
	return a, nil
}

// nameAnnotations returns the annotations from which a runtime reads the image's name. containerd reads the first, which
// is the full name. The second is the tag, as the OCI layout defines it.
func nameAnnotations(ref string) map[string]string {
	return map[string]string{
		"io.containerd.image.name":          ref,
		"org.opencontainers.image.ref.name": ref[strings.LastIndex(ref, ":")+1:],
	}
}

func (a *archive) addImage(img v1.Image) error {
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	for _, l := range layers {
		digest, err := l.Digest()
		if err != nil {
			return err
		}
		size, err := l.Size()
		if err != nil {
			return err
		}
		a.add(blob{digest: digest, size: size, open: l.Compressed})
	}
	raw, err := img.RawConfigFile()
	if err != nil {
		return err
	}
	name, err := img.ConfigName()
	if err != nil {
		return err
	}
	a.add(bytesBlob(name, raw))
	return a.addRaw(img)
}

func (a *archive) addRaw(manifest interface {
	RawManifest() ([]byte, error)
	Digest() (v1.Hash, error)
}) error {
	raw, err := manifest.RawManifest()
	if err != nil {
		return err
	}
	digest, err := manifest.Digest()
	if err != nil {
		return err
	}
	a.add(bytesBlob(digest, raw))
	return nil
}

// add adds a blob once: all architectures share the base layer.
func (a *archive) add(b blob) {
	for _, known := range a.blobs {
		if known.digest == b.digest {
			return
		}
	}
	a.blobs = append(a.blobs, b)
}

func bytesBlob(digest v1.Hash, raw []byte) blob {
	return blob{digest: digest, size: int64(len(raw)), open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(string(raw))), nil
	}}
}

// writeFile writes the archive to a temporary file and renames it to path, so that path is always complete. It returns the
// size in bytes.
func (a *archive) writeFile(path string) (int64, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return 0, err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(file.Name()) }() // fails after the rename, when the file is gone
	defer file.Close()
	if err := a.write(file); err != nil {
		return 0, fmt.Errorf("write %s: %w", path, err)
	}
	size, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	if err := file.Chmod(0o644); err != nil {
		return 0, err
	}
	if err := file.Close(); err != nil {
		return 0, err
	}
	return size, os.Rename(file.Name(), path)
}

func (a *archive) write(w io.Writer) error {
	out := tar.NewWriter(w)
	index, err := json.Marshal(v1.IndexManifest{
		SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{a.root},
	})
	if err != nil {
		return err
	}
	if err := addFile(out, "oci-layout", 31, strings.NewReader(`{"imageLayoutVersion":"1.0.0"}`+"\n")); err != nil {
		return err
	}
	for _, dir := range []string{"blobs/", "blobs/sha256/"} {
		if err := out.WriteHeader(&tar.Header{Name: dir, Mode: 0o755, Typeflag: tar.TypeDir, ModTime: epoch, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
	}
	for _, b := range a.blobs {
		if err := b.write(out); err != nil {
			return err
		}
	}
	if err := addFile(out, "index.json", int64(len(index)), strings.NewReader(string(index))); err != nil {
		return err
	}
	return out.Close()
}

func (b blob) write(out *tar.Writer) error {
	content, err := b.open()
	if err != nil {
		return err
	}
	defer content.Close()
	return addFile(out, "blobs/sha256/"+b.digest.Hex, b.size, content)
}

func addFile(out *tar.Writer, name string, size int64, content io.Reader) error {
	return writeFile(out, &tar.Header{
		Name: name, Mode: 0o644, Size: size, Typeflag: tar.TypeReg, ModTime: epoch, Format: tar.FormatUSTAR,
	}, content)
}
