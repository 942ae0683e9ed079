package stack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// fileInArchive reads one file from a tar archive.
func fileInArchive(archive, name string) ([]byte, error) {
	file, err := os.Open(archive)
	if err != nil {
		return nil, fmt.Errorf("open image: %w", err)
	}
	defer file.Close()
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("archive %s does not contain %s", archive, name)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", archive, err)
		}
		if path.Clean(header.Name) == name {
			return io.ReadAll(reader)
		}
	}
}
