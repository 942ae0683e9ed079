package restore

import (
	"os"

	"github.com/spf13/pflag"
)

// Flags are those of the program, besides those that all operators have.
type Flags struct {
	SpoolDir              string
	Spool                 SpoolFlags
	MaxProofs             int
	SignedURLs            bool
	OwnIdentityNamespaces []string
}

// AddFlags adds the flags with their defaults to flags.
func (f *Flags) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.SpoolDir, "spool-dir", os.TempDir(), "directory for snapshots during verification; it needs space for the largest snapshot and for the largest database")
	f.Spool.AddFlags(flags)
	flags.IntVar(&f.MaxProofs, "max-proofs", 3, "maximum number of concurrent verifications, of which one namespace has one fewer; further snapshots wait")
	flags.BoolVar(&f.SignedURLs, "signed-urls", true,
		"hand the seed a signed URL in a Secret if the operator's own identity reads the snapshot")
	flags.StringSliceVar(&f.OwnIdentityNamespaces, "own-identity-namespaces", []string{"*"},
		"namespaces whose EtcdRestores may use the operator's own identity at a store, separated by commas; * means all; if empty, each EtcdRestore needs a Secret")
}
