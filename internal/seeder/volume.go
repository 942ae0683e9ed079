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

// walSize is what etcd allocates for its first WAL file.
const walSize = 64 << 20

// enoughSpace says before anything is fetched when the volume of dir cannot hold the snapshot twice, once as it
// was fetched and once as the database, and the first WAL file.
func enoughSpace(dir string, size int64) error {
	free, err := source.Free(dir)
	if err != nil {
		return err
	}
	if need := 2*size + walSize; free < need {
		return fmt.Errorf("the volume has %d MiB free and the restore of a snapshot of %d MiB needs %d MiB: make the members' volumes larger", free>>20, size>>20, need>>20)
	}
	return nil
}

// credentials reads the Secret's data where it is mounted; nil where the request names no Secret.
func credentials(dir, secret string) (map[string][]byte, error) {
	if secret == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the Secret %s is not mounted at %s", secret, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read the mounted Secret %s: %w: %w", secret, source.ErrDisk, err)
	}
	data := map[string][]byte{}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "..") || entry.IsDir() {
			continue // a kubelet's own links: the data of now and of before
		}
		value, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the mounted Secret %s: %w: %w", secret, source.ErrDisk, err)
		}
		data[entry.Name()] = value
	}
	return data, nil
}
