package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the time of all files in an image, so that a build does not depend on its time.
var epoch = time.Unix(0, 0).UTC()

// nonroot is the user and group ID of the operators. The image's config contains the number and not a name, so that the
// kubelet can verify that it is not root.
const nonroot = 65532

// An entry is a directory or file of an image.
type entry struct {
	path  string // absolute; missing parents are added, owned by root with mode 0755
	mode  int64
	owner int    // user and group
	data  []byte // content, unless file is set
	file  string // path of the content on disk
	dir   bool
}

// layer is a gzipped tar in memory. An operator's layer has about 30 MB.
type layer struct {
	digest, diffID v1.Hash
	bytes          []byte
}

func (l *layer) Digest() (v1.Hash, error)            { return l.digest, nil }
func (l *layer) DiffID() (v1.Hash, error)            { return l.diffID, nil }
func (l *layer) Size() (int64, error)                { return int64(len(l.bytes)), nil }
func (l *layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }
func (l *layer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.bytes)), nil
}
func (l *layer) Uncompressed() (io.ReadCloser, error) {
	return gzip.NewReader(bytes.NewReader(l.bytes))
}

// newLayer returns a layer of the entries, sorted by path and with epoch as their time.
func newLayer(entries []entry) (*layer, error) {
	var compressed bytes.Buffer
	digest, diffID := sha256.New(), sha256.New()
	// The fastest level adds a tenth to the size, but a demo waits for the compression.
	zipped, err := gzip.NewWriterLevel(io.MultiWriter(&compressed, digest), gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(io.MultiWriter(zipped, diffID))
	for _, e := range withParents(entries) {
		if err := e.write(archive); err != nil {
			return nil, fmt.Errorf("add %s: %w", e.path, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return &layer{digest: hash(digest.Sum(nil)), diffID: hash(diffID.Sum(nil)), bytes: compressed.Bytes()}, nil
}

func hash(sum []byte) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum)}
}

// withParents adds the parent directories of entries and sorts by path, so that each directory comes before its content.
func withParents(entries []entry) []entry {
	all := map[string]entry{}
	for _, e := range entries {
		for dir := path.Dir(e.path); dir != "/"; dir = path.Dir(dir) {
			if _, known := all[dir]; !known {
				all[dir] = entry{path: dir, mode: 0o755, dir: true}
			}
		}
		all[e.path] = e
	}
	sorted := make([]entry, 0, len(all))
	for _, e := range all {
		sorted = append(sorted, e)
	}
	slices.SortFunc(sorted, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return sorted
}

func (e entry) write(archive *tar.Writer) error {
	header := &tar.Header{
		Name: strings.TrimPrefix(e.path, "/"), Mode: e.mode, Uid: e.owner, Gid: e.owner,
		ModTime: epoch, Typeflag: tar.TypeReg, Size: int64(len(e.data)), Format: tar.FormatUSTAR,
	}
	if e.dir {
		header.Name += "/"
		header.Typeflag = tar.TypeDir
		return archive.WriteHeader(header)
	}
	if e.file == "" {
		return writeFile(archive, header, bytes.NewReader(e.data))
	}
	file, err := os.Open(e.file)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	return writeFile(archive, header, file)
}

func writeFile(archive *tar.Writer, header *tar.Header, content io.Reader) error {
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(archive, content)
	return err
}
