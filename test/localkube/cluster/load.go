package cluster

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Load imports image archives (docker or OCI format, tar) into all nodes at once.
// The error lists the nodes that are stopped or frozen; the other nodes still get
// the images.
func (c *Cluster) Load(ctx context.Context, files ...string) error {
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("load an image: %w", err)
		}
	}
	return forEachNode(ctx, c.nodes(), func(_ context.Context, n node) error {
		s, err := c.nodeStatus(ctx, n)
		if err != nil {
			return err
		}
		if !s.Running || s.Frozen {
			return fmt.Errorf("the images were not loaded: %s", s)
		}
		return c.importImages(ctx, n, files) // its own ctx, so another node's failure does not cancel it
	})
}

// importImages skips what the node has: an import takes seconds.
func (c *Cluster) importImages(ctx context.Context, n node, files []string) error {
	present, err := execute(ctx, "", filepath.Join(c.bin, "ctr"), "--address", c.layout.socket(n), "--namespace", "k8s.io", "images", "list")
	if err != nil {
		return fmt.Errorf("list the images of a node: %w", err)
	}
	for _, file := range files {
		if isPresent(present, file) {
			continue
		}
		path, err := filepath.Abs(file)
		if err != nil {
			return fmt.Errorf("load %s: %w", file, err)
		}
		if _, err := execute(ctx, "", filepath.Join(c.bin, "ctr"), "--address", c.layout.socket(n), "--namespace", "k8s.io", "images", "import", path); err != nil {
			return fmt.Errorf("load %s: %w", file, err)
		}
	}
	return nil
}

// isPresent reports whether the output of "ctr images list" has all images of an OCI archive under their names, with the same content.
func isPresent(list, archive string) bool {
	index, err := indexOf(archive)
	if err != nil || len(index.Manifests) == 0 {
		return false // not an OCI archive
	}
	for _, image := range index.Manifests {
		name, digest := image.Annotations["io.containerd.image.name"], image.Digest
		found := slices.ContainsFunc(strings.Split(list, "\n"), func(line string) bool {
			fields := strings.Fields(line)
			return name != "" && len(fields) > 2 && fields[0] == name && fields[2] == digest
		})
		if !found {
			return false
		}
	}
	return true
}

// imageIndex is the part of index.json that is compared.
type imageIndex struct {
	Manifests []struct {
		Digest      string            `json:"digest"`
		Annotations map[string]string `json:"annotations"`
	} `json:"manifests"`
}

// indexOf reads index.json of an OCI archive.
func indexOf(archive string) (index imageIndex, err error) {
	file, err := os.Open(archive)
	if err != nil {
		return index, err
	}
	defer file.Close()
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		if err != nil {
			return index, fmt.Errorf("find index.json in %s: %w", archive, err)
		}
		if header.Name == "index.json" {
			return index, json.NewDecoder(reader).Decode(&index)
		}
	}
}
