// Package switchover reads and writes the objects beside a continuous archive with which a source hands its clients over to a standby.
//
// A switchover has three objects, and no store replaces any of them:
//
//	begin     the source is about to refuse writes. An end comes after it, so a switchover without a beginning has none
//	end       the source refuses all writes after a revision, and the archive has all up to it
//	decision  either a standby became the cluster, or the switchover was called off
//
// Only one party can create the decision. A standby creates it before it serves, and the source before it takes writes again. So the two never take
// writes after the same revision. The decision may be made before there is an end: an end that comes later has no effect.
//
// An archive may have several switchovers, and the source may have lost the ID of one with its status. So the source decides about all others before it
// ends the archive or takes writes, see Settle, and a standby considers all of them, see Claim.
package switchover

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// folder is beside the timelines. Listings of links do not count it.
const folder = "switchovers/"

const (
	beginName    = ".begin"
	endName      = ".end"
	decisionName = ".decision"
)

// ID names one switchover. The IDs of one archive are in the order of their times.
type ID string

var valid = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}-[0-9a-f]{8}$`)

// NewID returns the ID of a switchover that is asked for at that time. writer makes it differ from those of another writer. archive is where its objects are.
func NewID(at time.Time, writer, archive string) ID {
	return ID(at.UTC().Format("20060102T150405Z") + suffix(writer) + suffix(archive))
}

// In reports whether a switchover began in that archive. An end in another one would be claimed by another standby.
func (id ID) In(archive string) bool { return strings.HasSuffix(string(id), suffix(archive)) }

func suffix(of string) string {
	sum := sha256.Sum256([]byte(of))
	return "-" + hex.EncodeToString(sum[:4])
}

func (id ID) beginKey(root string) string    { return root + folder + string(id) + beginName }
func (id ID) endKey(root string) string      { return root + folder + string(id) + endName }
func (id ID) decisionKey(root string) string { return root + folder + string(id) + decisionName }

// End says that the source of an archive refuses all writes, and that the archive has all that were acknowledged.
type End struct {
	FormatVersion int              `json:"formatVersion"`
	ID            ID               `json:"id"`
	Timeline      archive.Timeline `json:"timeline"`
	// Revision is the last one of the source, and At is a time at which the archive had it.
	Revision int64     `json:"revision"`
	At       time.Time `json:"at"`
	// ClusterID is that of the source, as etcd prints it.
	ClusterID string `json:"clusterID,omitempty"`
	// Start is the SHA-256 of the start of the timeline: an archive that was deleted and begun again has the same numbers.
	Start string `json:"start,omitempty"`
	// AuthRevision and AuthEnabled are the state of authentication after the writes were stopped. See Auth.
	AuthRevision uint64      `json:"auth,omitempty"`
	AuthEnabled  auth.Switch `json:"authEnabled,omitzero"`
	// Writer is the EtcdBackup, as "<namespace>/<name>".
	Writer string `json:"writer,omitempty"`
}

// Auth returns the state of authentication of the source. etcd accepts changes of users and roles although it refuses writes, so it may have changed since.
func (e End) Auth() auth.State { return auth.State{Revision: e.AuthRevision, Enabled: e.AuthEnabled} }

// Decision is how a switchover has ended.
type Decision struct {
	FormatVersion int `json:"formatVersion"`
	ID            ID  `json:"id"`
	// Promoted is the standby that became the cluster, and Holder differs from that of any other standby. Both are empty if the switchover was called off.
	Promoted string `json:"promoted,omitempty"`
	Holder   string `json:"holder,omitempty"`
	// Revision that the standby has. It is 0 if the switchover was called off.
	Revision int64     `json:"revision,omitempty"`
	At       time.Time `json:"at"`
}

// Off reports whether the switchover was called off.
func (d Decision) Off() bool { return d.Holder == "" }

// Begin records that a switchover begins, before its first effect. So it can be called off although its status was lost, and its end arrives late. It writes the object twice,
// because nothing decides between two parties in a store that replaces objects.
func Begin(ctx context.Context, store objstore.Store, root string, id ID) error {
	begin := struct {
		FormatVersion int `json:"formatVersion"`
		ID            ID  `json:"id"`
	}{archive.FormatVersion, id}
	for range 2 {
		switch err := put(ctx, store, id.beginKey(root), begin); {
		case errors.Is(err, fs.ErrExist):
			return nil
		case err != nil:
			return fmt.Errorf("begin the switchover: %w", err)
		}
	}
	return errors.New("the store replaces objects, although it is asked not to: the source and a standby could both become the cluster. Use a store with conditional writes")
}

// errOtherEnd means that the store has another end of the switchover than the source would write.
var errOtherEnd = errors.New("the store has another end of this switchover")

// PutEnd stores an end. It is not an error if it is stored already. A request of an earlier process may have stored another one.
func PutEnd(ctx context.Context, store objstore.Store, root string, e End) error {
	e.FormatVersion = archive.FormatVersion
	err := put(ctx, store, e.ID.endKey(root), e)
	if errors.Is(err, fs.ErrExist) {
		var has End
		var found bool
		if has, found, err = ReadEnd(ctx, store, root, e.ID); err == nil && (!found || !has.Same(e)) {
			err = fmt.Errorf("%w, with revision %d and not %d", errOtherEnd, has.Revision, e.Revision)
		}
	}
	if err != nil {
		return fmt.Errorf("store the end of the archive: %w", err)
	}
	return nil
}

// Same reports whether two ends say the same about the same cluster.
func (e End) Same(other End) bool {
	return e.ID == other.ID && e.Timeline == other.Timeline && e.Start == other.Start && e.Revision == other.Revision && e.ClusterID == other.ClusterID && e.Auth() == other.Auth()
}

// Decide stores a decision. If one was made before, it returns that one.
func Decide(ctx context.Context, store objstore.Store, root string, d Decision) (Decision, error) {
	d.FormatVersion = archive.FormatVersion
	err := put(ctx, store, d.ID.decisionKey(root), d)
	if !errors.Is(err, fs.ErrExist) {
		return d, err
	}
	made, found, err := ReadDecision(ctx, store, root, d.ID)
	if err == nil && !found {
		err = fmt.Errorf("the store has %s, but does not return it", d.ID.decisionKey(root))
	}
	return made, err
}

// ReadEnd returns the end of a switchover. found is false if there is none yet.
func ReadEnd(ctx context.Context, store objstore.Getter, root string, id ID) (e End, found bool, err error) {
	found, err = read(ctx, store, id.endKey(root), &e)
	if found && (e.ID != id || e.Revision < 1) {
		return End{}, false, fmt.Errorf("%w: %s is no end of a switchover", archive.ErrCorrupt, id.endKey(root))
	}
	return e, found, err
}

// ReadDecision returns the decision about a switchover. found is false if there is none yet.
func ReadDecision(ctx context.Context, store objstore.Getter, root string, id ID) (d Decision, found bool, err error) {
	found, err = read(ctx, store, id.decisionKey(root), &d)
	if found && d.ID != id {
		return Decision{}, false, fmt.Errorf("%w: %s is no decision about a switchover", archive.ErrCorrupt, id.decisionKey(root))
	}
	return d, found, err
}

func put(ctx context.Context, store objstore.Store, key string, v any) error {
	content, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return store.Put(ctx, key, objstore.NewMetadata(content))
}

func read(ctx context.Context, store objstore.Getter, key string, v any) (found bool, err error) {
	body, err := store.Get(ctx, key)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, objstore.ErrNoBucket):
		return false, nil
	case err != nil:
		return false, err
	}
	defer body.Close()
	var head struct {
		FormatVersion int `json:"formatVersion"`
	}
	content := json.RawMessage{}
	if err = bounded.Read(body, &content); err == nil {
		err = bounded.JSON(content, &head)
	}
	if err == nil && head.FormatVersion > archive.FormatVersion {
		return false, fmt.Errorf("%w: %s", archive.ErrNewerFormat, key)
	}
	if err == nil {
		err = bounded.JSON(content, v)
	}
	if err != nil {
		return false, fmt.Errorf("%w: %s: %w", archive.ErrCorrupt, key, err)
	}
	return true, nil
}
