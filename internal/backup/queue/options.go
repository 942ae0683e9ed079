package queue

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// Options of the controller.
type Options struct {
	// SpoolDir is where snapshots are stored while they are verified. The operator deletes the files of an earlier
	// process in it when it starts.
	SpoolDir string
	// SpoolLimit is the size of the spool volume in bytes, and 0 if it has none. SpoolKeepFree is how many percent of its
	// file system are left free.
	SpoolLimit    int64
	SpoolKeepFree int
	// MaxConcurrent is how many snapshots are taken at the same time.
	MaxConcurrent int
	// MaxPerStore limits how many of them are sent to one bucket, and MaxPerNamespace how many are of one namespace. 0 means one less than
	// MaxConcurrent, and one less than MaxPerStore. So no namespace and no slow store delays all others.
	MaxPerNamespace, MaxPerStore int
	// Jitter is the longest time by which snapshots and restore tests of the same schedule are spread.
	Jitter time.Duration
	// MaxRestoreTests is how many restore tests run at the same time.
	MaxRestoreTests int
	// RestoreTestMemory is how many bytes of memory a restore test may use. 0 means no limit.
	RestoreTestMemory int64
	// Try restores a snapshot for a restore test, in a process with that many bytes of memory.
	Try func(ctx context.Context, t dbfile.Trial, memory int64) (dbfile.KVHash, error)
	// OwnIdentity says which namespaces may use the operator's own identity at a store, and below which paths.
	OwnIdentity grant.List
	// RequireSecretEndpoint makes the keys in Secrets sign only for the provider's own servers and for those that the Secret names.
	RequireSecretEndpoint bool
	// Server is the clock of the API server, if its answers are read.
	Server *clock.Server
	// Metrics is where the controller's metrics are registered.
	Metrics prometheus.Registerer
}

// AddFlags adds the options with their defaults to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.SpoolDir, "spool-dir", "/spool", "directory for snapshots during upload; it must not be shared")
	flags.Var(quantity{&o.SpoolLimit}, "spool-limit",
		"size of the volume of spool-dir, for example 20Gi; an attempt waits if its snapshot does not fit; 0 means no limit")
	flags.IntVar(&o.SpoolKeepFree, "spool-keep-free-percent", 0, "how many percent of the file system of spool-dir are left free")
	flags.IntVar(&o.MaxConcurrent, "max-concurrent-snapshots", 4, "maximum number of concurrent snapshots; further snapshots wait")
	flags.IntVar(&o.MaxPerNamespace, "max-concurrent-per-namespace", 0, "maximum number of concurrent snapshots of one namespace; 0 means one less than max-concurrent-per-store")
	flags.IntVar(&o.MaxPerStore, "max-concurrent-per-store", 0, "maximum number of concurrent snapshots to one bucket; one namespace gets at most one less; 0 means one less than max-concurrent-snapshots")
	flags.DurationVar(&o.Jitter, "jitter", time.Minute, "longest time by which runs of the same schedule are spread; at most a tenth of the interval")
	flags.Var(&o.OwnIdentity, "own-identity",
		"JSON list of namespaces and path prefixes at which EtcdBackups may use the operator's own identity; if empty, each EtcdBackup needs a Secret")
	flags.BoolVar(&o.RequireSecretEndpoint, "require-secret-endpoint", false,
		"use the S3 and Azure keys of a Secret only for Amazon, Azure and the URLs in its key endpoint")
	flags.IntVar(&o.MaxRestoreTests, "max-concurrent-restore-tests", 1, "maximum number of concurrent restore tests; one more may read its snapshot, and further tests wait")
	flags.Var(quantity{&o.RestoreTestMemory}, "restore-test-memory",
		"memory of each restore test, for example 1Gi; a test needs about 80 MiB and 500 bytes for each key; 0 means no limit")
}

// quantity is a flag with a Kubernetes quantity of bytes.
type quantity struct{ bytes *int64 }

func (q quantity) Set(text string) error {
	parsed, err := resource.ParseQuantity(text)
	*q.bytes = parsed.Value()
	return err
}

func (q quantity) String() string {
	if q.bytes == nil {
		return "0"
	}
	return strconv.FormatInt(*q.bytes, 10)
}

func (q quantity) Type() string { return "quantity" }
