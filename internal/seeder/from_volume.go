package seeder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/datadir"
	"github.com/etcd-suite/etcd-operator/internal/dbcheck"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// fromVolume restores the data directory on a volume: it makes a snapshot of it, which it verifies like any other one.
func fromVolume(ctx context.Context, s *Seeder, r seed.Request, staging string) error {
	file := filepath.Join(staging, "snapshot.db")
	result, err := copyVolume(ctx, s, r, staging, file)
	if err != nil {
		return fmt.Errorf("volume of PersistentVolumeClaim %s: %w", r.Volume.Claim, err)
	}
	if err := writeRead(filepath.Dir(r.DataDir), result); err != nil {
		return fmt.Errorf("record what was read: %w: %w", source.ErrDisk, err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("read the size of what was made of the data directory: %w: %w", source.ErrDisk, err)
	}
	r.Size, r.PlainSize = info.Size(), 0 // the volume may be much larger, and the progress is a share of this
	return s.restore(ctx, r, file, filepath.Join(staging, "data"))
}

// writeRead records what was read before the data directory is complete, because a process that is killed after that reads the volume no more.
func writeRead(volume string, result datadir.Result) error {
	content, err := json.Marshal(seed.VolumeRead{Volume: &v1beta2.VolumeRead{
		Revision: result.Revision, LogEntries: result.Entries, LeftOutEntries: result.LeftOut, FirstLeftOutRevision: result.FirstLeftOut,
	}})
	if err != nil {
		return err
	}
	return writeSynced(filepath.Join(volume, readName), content)
}

// VolumeRead returns what was read from a volume, as one line of JSON. It is empty if the data directory was not restored from one.
func VolumeRead(dataDir string) string { return recorded(dataDir, readName) }

// copyVolume writes a verified snapshot of the data directory to a file. While it reads the volume, no etcd starts on it.
func copyVolume(ctx context.Context, s *Seeder, r seed.Request, staging, file string) (result datadir.Result, err error) {
	started := time.Now()
	directory, err := datadir.Open(s.VolumeDir, r.Volume.Path)
	if err != nil {
		return result, readable(err)
	}
	defer func() { err = errors.Join(err, directory.Close()) }()
	if err := enoughSpace(staging, directory.Size()); err != nil {
		return result, err
	}
	result, err = directory.Snapshot(ctx, "", file, memoryOfLog())
	switch {
	case errors.Is(err, dbfile.ErrMemory):
		return result, fmt.Errorf("%w: %w. Raise the memory limit in spec.pod.resources of the EtcdCluster", datadir.ErrRefused, err)
	case err != nil && !errors.Is(err, datadir.ErrRefused) && !source.Final(err):
		return result, fmt.Errorf("%w: %w", source.ErrDisk, readable(err))
	case err != nil:
		return result, err
	}
	info, err := dbcheck.Inspect(ctx, "", file)
	if err != nil {
		return result, fmt.Errorf("check what was made of the data directory: %w", err)
	}
	format := snapshot.Manifest{StorageVersion: info.StorageVersion, EtcdVersion: info.ClusterVersion}.Format()
	if err := errors.Join(snapshot.Compatible(format, r.Volume.EtcdVersion), snapshot.Compatible(info.ClusterVersion, r.Volume.EtcdVersion)); err != nil {
		return result, fmt.Errorf("%w: %w. Raise spec.version of the EtcdCluster", datadir.ErrRefused, err)
	}
	s.Log.Info("read the data directory", "claim", r.Volume.Claim, "path", directory.Path(), "revision", result.Revision, "databaseRevision", result.Base, "entriesOfTheLog", result.Entries, "entriesLeftOut", result.LeftOut,
		"member", fmt.Sprintf("%x", result.MemberID), "keys", info.Keys, "took", time.Since(started).String())
	return result, nil
}

// readable adds to an error of permissions what permits to read the volume. The kubelet does not change the owners of its files.
func readable(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w: the files belong to another user. Set spec.pod.securityContext.runAsUser of the EtcdCluster to the user that has written them", err)
}

// containerLimits have the memory limit of a container, by the version of its cgroup.
var containerLimits = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// memoryOfLog is what the process may use that applies the log. Without a limit of its own, it would reach that of the container. Then the kernel ends all
// processes of the container, and no message says why.
func memoryOfLog() int64 {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit / 2
	}
	return shareOf(containerLimits)
}

// leastMemory is what any log needs: memory that a process has and does not use counts, too. A container with less may still be able to apply a small one.
const leastMemory = 192 << 20

// shareOf is the larger part of the limit that the first of the files has; 0 for none. The rest is for this process and for the pages that are written.
func shareOf(files []string) int64 {
	const none = math.MaxInt64 / 2 // a cgroup without a limit has a number near the largest one
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64); err == nil && limit < none {
			return max(limit/4*3, leastMemory)
		}
		return 0
	}
	return 0
}
