package archive

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/bounded"
)

// Proof is the object that records the result of a proof: whether the archive leads from one snapshot to a later one. It is beside the archive,
// so that it outlives the status that reports it. Its name has the result, so that one listing returns all. Readers ignore unknown fields.
type Proof struct {
	FormatVersion int `json:"formatVersion"`
	ProofName
	// FromKey and ToKey are the keys of the two snapshots.
	FromKey  string    `json:"fromKey"`
	ToKey    string    `json:"toKey"`
	Time     time.Time `json:"time"`
	Segments int       `json:"segments,omitempty"`
	// Backup is the name of the EtcdBackup that has proven it, and Tool its operator with the version.
	Backup  string          `json:"backup,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Message bounded.Message `json:"message,omitempty"`
	// Unreturned are the keys of segments that the store lists and does not return, as far as proofs have found them. They are in parts that this
	// proof does not have.
	Unreturned []string `json:"unreturned,omitempty"`
}

// ProofName is what the name of a proof says.
type ProofName struct {
	Timeline Timeline `json:"timeline"`
	// From and To are the revisions of the two snapshots.
	From   int64 `json:"from"`
	To     int64 `json:"to"`
	Failed bool  `json:"failed,omitempty"`
}

const (
	proofFolder = "proofs/"
	proofFormat = "%08d-%020d-%020d.%s"
	proofPassed = "proof-passed"
	proofFailed = "proof-failed"
)

// Key returns the key of the proof. Listings of links do not count it.
func (n ProofName) Key(root string) string {
	result := proofPassed
	if n.Failed {
		result = proofFailed
	}
	return root + proofFolder + fmt.Sprintf(proofFormat, n.Timeline, n.From, n.To, result)
}
