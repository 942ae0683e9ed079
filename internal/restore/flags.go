package restore

import (
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// Flags are those of the program, besides those that all operators have.
type Flags struct {
	SpoolDir     string
	Spool        SpoolFlags
	MaxProofs    int
	ReplayMemory resource.QuantityValue
	SignedURLs   bool
	OwnIdentity  grant.List
	// RequireSecretEndpoint is as in backup.Options.
	RequireSecretEndpoint bool
}

// AddFlags adds the flags with their defaults to flags.
func (f *Flags) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.SpoolDir, "spool-dir", os.TempDir(), "directory for snapshots during verification; it needs space for the largest snapshot and for the largest database")
	f.Spool.AddFlags(flags)
	flags.IntVar(&f.MaxProofs, "max-proofs", 3, "maximum number of concurrent verifications; one namespace gets at most one less; further snapshots wait")
	flags.Var(&f.ReplayMemory, "replay-memory",
		"memory of a replay, for example 1Gi; it needs about 80 MiB and 500 bytes for each key; 0 means no limit")
	flags.BoolVar(&f.SignedURLs, "signed-urls", true,
		"hand the seed a signed URL in a Secret if the operator's own identity reads the snapshot")
	flags.Var(&f.OwnIdentity, "own-identity",
		"JSON list of namespaces and path prefixes at which EtcdRestores may use the operator's own identity; if empty, each EtcdRestore needs a Secret")
	flags.BoolVar(&f.RequireSecretEndpoint, "require-secret-endpoint", false,
		"use the S3 and Azure keys of a Secret only for Amazon, Azure and the URLs in its key endpoint")
}
