package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// The names in a spool directory: a snapshot that is being saved or read back, a fetched snapshot, and the directory of a
// restore test.
const (
	spoolPattern       = "spool-*.db"
	fetchPattern       = "fetch-*.db"
	restoreTestPattern = "restore-test-*"
)

// newSpool creates a file and deletes its name. The file uses space only while it is open, so a killed process leaves no
// file behind.
func newSpool(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, spoolPattern)
	if err != nil {
		return nil, diskError(err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, diskError(errors.Join(err, f.Close()))
	}
	return f, nil
}

// CleanSpool deletes the files of killed processes in dir. Call it once at start, while no other process uses dir.
func CleanSpool(dir string) error {
	var errs []error
	for _, pattern := range []string{spoolPattern, fetchPattern, restoreTestPattern} {
		names, err := filepath.Glob(filepath.Join(globEscape(dir), pattern))
		errs = append(errs, err)
		for _, name := range names {
			if err := os.RemoveAll(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return diskError(err)
	}
	return nil
}

// globEscape escapes a directory's name for use in a pattern.
func globEscape(dir string) string {
	var escaped []rune
	for _, r := range dir {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			escaped = append(escaped, '\\')
		}
		escaped = append(escaped, r)
	}
	return string(escaped)
}
