package cas

import "fmt"

// Endpoint is what a Pod with TLS has. It is replaced and never changed, so that copies of a world share it.
type Endpoint struct {
	// Trust and Loaded are its annotations.
	Trust, Loaded string
	// Has is what its process has read: CAs when it started, and certificates as the kubelet last wrote them.
	Has Secrets
	// Process is the number of its etcd process, 0 if none runs. Since is when that started. Skew is by how many seconds the clock of its node is wrong.
	Process, Since, Skew int
	// Slow is when it last answered too late.
	Slow int
}

// Mount writes the certificates of the Secrets into a Pod that runs. etcd reads CAs only when it starts.
func (e *Endpoint) Mount(held Secrets) {
	e.Has.Peer.Signer, e.Has.Client.Signer = held.Peer.Signer, held.Client.Signer
}

// String of an endpoint, for the log of a run.
func (e *Endpoint) String() string {
	return fmt.Sprintf("annotated %s, has %v, process %d since %d, skew %d", e.Trust, e.Has, e.Process, e.Since, e.Skew)
}

// WrongClock is by how many seconds the clock of a node may be wrong.
const WrongClock = 3600
