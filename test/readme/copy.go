package readme

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// skipped are folders of the repository that a fresh clone lacks or a reader does not need.
var skipped = []string{".git", "bin", "dist", "hack/site/node_modules", "hack/site/pages"}

// Clone copies the working tree, because the commands of the documentation change files.
func Clone(root, to string) error {
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if slices.Contains(skipped, name) {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil // .git of a worktree is a file
		}
		return copyEntry(path, filepath.Join(to, name), entry)
	})
	if err != nil {
		return fmt.Errorf("copy the working tree: %w", err)
	}
	return nil
}

func copyEntry(from, to string, entry fs.DirEntry) error {
	if entry.IsDir() {
		return os.MkdirAll(to, 0o755) // a copy of the repository
	}
	info, err := entry.Info()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}
