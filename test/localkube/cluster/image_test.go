package cluster

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func unpack(t *testing.T, archive []byte) (map[string][]byte, map[string]*tar.Header) {
	t.Helper()
	contents, headers := map[string][]byte{}, map[string]*tar.Header{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return contents, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		contents[h.Name], headers[h.Name] = content, h
	}
}

func TestArchive(t *testing.T) {
	source := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(source, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	img := image{name: "example.com/i:1", entrypoint: []string{"/bin/program"}, files: []imageFile{
		{path: "bin/program", source: source}, {path: "bin/alias", target: "program"},
	}}
	archive, err := img.archive()
	if err != nil {
		t.Fatal(err)
	}
	files, _ := unpack(t, archive)
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil || len(manifest) != 1 {
		t.Fatalf("manifest %s, error %v", files["manifest.json"], err)
	}
	layer := files[manifest[0].Layers[0]]
	t.Run("has its name in the manifest", func(t *testing.T) {
		if got := manifest[0].RepoTags; len(got) != 1 || got[0] != img.name {
			t.Errorf("got %v", got)
		}
	})
	t.Run("has the layer's digest in the configuration", func(t *testing.T) {
		var config struct {
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			} `json:"rootfs"`
		}
		if err := json.Unmarshal(files[manifest[0].Config], &config); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("sha256:%x", sha256.Sum256(layer)); len(config.RootFS.DiffIDs) != 1 || config.RootFS.DiffIDs[0] != want {
			t.Errorf("got %v, want %s", config.RootFS.DiffIDs, want)
		}
	})
	contents, headers := unpack(t, layer)
	t.Run("makes all files executable and keeps symlinks", func(t *testing.T) {
		if string(contents["bin/program"]) != "content" || headers["bin/program"].Mode != 0o755 {
			t.Errorf("got %q, mode %o", contents["bin/program"], headers["bin/program"].Mode)
		}
		if h := headers["bin/alias"]; h == nil || h.Linkname != "program" {
			t.Errorf("got %+v", h)
		}
	})
	t.Run("is equal if the files are equal", func(t *testing.T) {
		again, err := img.archive()
		if err != nil || !bytes.Equal(archive, again) {
			t.Errorf("a second archive of the same files differs, error %v", err)
		}
	})
}
