package dbfile

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// Inspect reads the whole file and checks its structure. It only checks that there is a trailer: type Trailer verifies it.
func Inspect(path string) (Info, error) {
	f, err := os.Open(path)
	if err != nil {
		return Info{}, fmt.Errorf("open snapshot: %w", err)
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return Info{}, fmt.Errorf("open snapshot: %w", err)
	}
	info, err := InspectReader(f, stat.Size())
	if err != nil {
		return Info{}, fmt.Errorf("inspect snapshot %s: %w", path, err)
	}
	return info, nil
}

// InspectReader is Inspect for an open file.
func InspectReader(r io.ReaderAt, size int64) (Info, error) {
	if !hasTrailer(size) {
		return Info{}, fmt.Errorf("%d bytes: %w", size, ErrNoTrailer)
	}
	f, err := openFile(r, size-sha256.Size)
	if err != nil {
		return Info{}, err
	}
	memory := debug.SetMemoryLimit(-1)
	c := census{
		hash: crc32.New(crc32.MakeTable(crc32.Castagnoli)),
		seed: maphash.MakeSeed(),
		live: map[uint64]struct{}{}, alarms: map[string]bool{},
		info: Info{Size: size, Auth: auth.State{Enabled: auth.Off}}, most: maxKeys(memory),
	}
	w := &walker{file: f, most: min(maxHeld, memory/shareOfPages), enter: c.enter, visit: c.visit}
	if err := w.walk(); err != nil {
		return Info{}, err
	}
	if !c.hasMeta {
		return Info{}, corrupt("the bucket \"meta\" is missing: not a database of etcd")
	}
	c.info.Hash = c.hash.Sum32()
	c.info.Keys = int64(len(c.live))
	c.info.Revision = max(c.info.Revision, c.compacted)
	c.info.Alarms = strings.Join(slices.Sorted(maps.Keys(c.alarms)), ", ")
	return c.info, nil
}
