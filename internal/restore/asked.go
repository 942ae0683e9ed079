package restore

import (
	"context"
	"crypto/tls"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// needs returns how many bytes of the spool a snapshot of that size needs. Its keys and their values need as many again.
func (a Asked) needs(size int64) int64 {
	if a.Keys == nil {
		return size
	}
	return 2 * size
}

// Asked is a source to prove.
type Asked struct {
	// Namespace of the EtcdRestore.
	Namespace string
	Source    v1beta2.RestoreSource
	Choice    source.Choice
	// By has the Secret, which is nil if the operator's own identity is used, and what the namespace may use.
	source.By
	Progress source.Progress
	// Wait is called when the reading waits, until done is called. text returns for what, and why. It may be nil.
	Wait func(text func() string) (done func())
	// Point is set if Choice is a point of a continuous archive.
	Point *state.PointOrder
	// Keys is set if keys are compared or written. Members has the Secrets for the members.
	Keys    *state.KeysOrder
	Members SafetySecrets
	// end ends the reading when it has to give its space to a safety snapshot, and stay has it keep that while it writes keys. It returns false if the
	// reading ends. extracted has it return the space of a snapshot when only that many bytes of keys and values are still needed. The snapshot may be deleted
	// then.
	end       context.CancelCauseFunc
	stay      func() bool
	extracted func(bytes int64) error
}

// Found is the source that was read and its contents.
type Found struct {
	// Source names one object.
	Source v1beta2.RestoreSource
	// ChosenBecause explains why Source was chosen. It is empty if the spec names the object.
	ChosenBecause string
	Proven        source.Proven
	// Point is what the snapshot was made of. It is nil for a snapshot of a cluster.
	Point *v1beta2.PointInTimeStatus
	// Base is the snapshot of that point, as it was read.
	Base v1beta2.Snapshot
	// Follow is the archive that a standby follows, which begins with the snapshot. It is nil for any other restore.
	Follow *v1beta2.RestoreFollowStatus
	// Keys is what was compared or written. It is nil if that was not asked.
	Keys *v1beta2.PrefixesStatus
}

// Prove finds a source and reads it once and completely.
type Prove func(ctx context.Context, asked Asked) (Found, error)

// SafetySecrets are the contents of the Secrets for a safety snapshot: of the store, of the operators' client certificate,
// and of their user. The last two are nil if the cluster has none. For is what may be used at the store.
type SafetySecrets struct {
	Store, TLS, Auth map[string][]byte
	For              grant.Scope
}

// waits shows for what the reading waits, and why, until done is called.
func (a Asked) waits(what string, why func() turns.Reason) (done func()) {
	if a.Wait == nil {
		return func() {}
	}
	return a.Wait(func() string { return what + ": " + string(why()) })
}

// Save saves the old cluster, and returns the snapshot's path and manifest.
type Save func(ctx context.Context, order state.SafetyOrder, secrets SafetySecrets) (path string, m snapshot.Manifest, err error)

// Dial opens a client of one member. A nil Dial is etcd.Open.
type Dial func(endpoint etcd.Endpoint, tlsConfig *tls.Config) (*etcd.Client, error)

// Sign signs a URL to read a source, and proves that the URL can read it.
type Sign func(ctx context.Context, src v1beta2.RestoreSource, by source.By) (objstore.SignedURL, error)

// Name of the operator: of its controller, its events and its leader election.
const Name = "restore-operator"
