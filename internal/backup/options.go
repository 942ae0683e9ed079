package backup

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
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
