package world

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Version that a new EtcdCluster asks for.
const Version = "3.6.16"

// Newest are versions of each minor.
var Newest = map[string]string{"3.5": "3.5.35", "3.6": Version, "3.7": "3.7.3", "3.8": "3.8.0"}

// Versions of etcd, as far as they matter to what a member may be started on. All are of major version 3.

// MinorOf "3.6.16" is 6.
func MinorOf(version string) int {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return 0
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0
	}
	return n
}

const (
	// Downgrades is the first minor version that brings its data down.
	Downgrades = 6
	// ReadsNoV2 is the first minor version that cannot read what etcd before 3.6 wrote in its raft log.
	ReadsNoV2 = 7
	// WritesV2 is the last minor version that wrote it.
	WritesV2 = 5
)

// Storage of a minor version, as a member tells it.
func Storage(minor int) string { return fmt.Sprintf("3.%d.0", minor) }

// Image of a version. The model's clusters use the default repository.
func Image(version string) string { return v1beta2.DefaultRepository + ":v" + version }

// VersionOf an image.
func VersionOf(image string) string { return strings.TrimPrefix(image, v1beta2.DefaultRepository+":v") }

// The space that members' databases take. Nothing is written into it but by a fault; what matters is what the operator
// does when it is used up.

// Quota of a member in MiB, if the spec asks for none.
const Quota = 100

// QuotaAsked by a spec, in MiB.
func QuotaAsked(spec v1beta2.EtcdClusterSpec) int {
	return int(cmp.Or(spec.QuotaBackendBytes()/MiB, Quota))
}

// MiB is a mebibyte.
const MiB = 1 << 20
