package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// The names of files in a spool directory: of a snapshot that is being saved or
// looked at, of one that was fetched, and the directory of a drill.
const (
	spoolPattern = "spool-*.db"
	fetchPattern = "fetch-*.db"
	drillPattern = "drill-*"
)

// newSpool makes a file without a name: it takes space while it is open, and
// whoever is killed leaves nothing.
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

// CleanSpool removes what killed processes left in dir. Nobody else may be using
// it: call it once, at start.
func CleanSpool(dir string) error {
	var errs []error
	for _, pattern := range []string{spoolPattern, fetchPattern, drillPattern} {
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

// globEscape makes a directory's name mean itself in a pattern.
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
