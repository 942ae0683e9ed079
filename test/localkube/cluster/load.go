package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

func (c *Cluster) importImages(ctx context.Context, n node, files []string) error {
	for _, file := range files {
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
