package seeder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/source"
)

// walSize is the size that etcd allocates for its first WAL file.
const walSize = 64 << 20

// enoughSpace fails if the volume of dir is too small for the fetched snapshot, the database of the same size, and the
// first WAL file.
func enoughSpace(dir string, size int64) error {
	free, err := source.Free(dir)
	if err != nil {
		return err
	}
	if need := 2*size + walSize; free < need {
		return fmt.Errorf("the volume has %d MiB free, but the restore of a snapshot of %d MiB needs %d MiB: use larger volumes for the members", free>>20, size>>20, need>>20)
	}
	return nil
}

// writeSynced writes a file that survives a loss of power, completely or not at all.
func writeSynced(path string, content []byte) error {
	part, err := os.OpenFile(path+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	return replace(path+".part", path)
}

// mounted reads the data of a mounted Secret. It returns nil if the request names no Secret.
func mounted(dir, secret string) (map[string][]byte, error) {
	if secret == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read Secret %s: it is not mounted at %s", secret, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read mounted Secret %s: %w: %w", secret, source.ErrDisk, err)
	}
	data := map[string][]byte{}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "..") || entry.IsDir() {
			continue // links and directories of the kubelet
		}
		value, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read mounted Secret %s: %w: %w", secret, source.ErrDisk, err)
		}
		data[entry.Name()] = value
	}
	return data, nil
}

// The names on the volume, beside the data directory.
const (
	standbyName  = ".etcd-standby"  // the directory of the follower
	claimedName  = ".etcd-claimed"  // the decision that this standby becomes the cluster
	promotedName = ".etcd-promoted" // what was promoted. It is kept, because the process may be killed before its result is reported
	readName     = ".etcd-read"     // what was read from a volume, kept for the same reason
)

// The names in the directory of the follower that are not its own: the snapshot file of a promotion, and where a base is fetched.
const deliveredName, fetchName = "promoted.db", "fetch"

// removeStandby removes what a promotion does not need any more.
func (s *Seeder) removeStandby(volume string) error {
	for _, name := range []string{standbyName, stagingName, claimedName} {
		if err := os.RemoveAll(filepath.Join(volume, name)); err != nil {
			return fmt.Errorf("remove the files of the standby: %w: %w", source.ErrDisk, err)
		}
	}
	return nil
}
