// Package switchover reads and writes the objects beside a continuous archive with which a source hands its clients over to a standby.
//
// A switchover has two objects, and no store replaces either of them:
//
//	end       the source refuses all writes after a revision, and the archive has all up to it
//	decision  either a standby became the cluster, or the switchover was called off
//
// Only one party can create the decision. A standby creates it before it serves, and the source before it takes writes again. So the two never take
// writes after the same revision. The decision may be made before there is an end: an end that comes later has no effect.
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
	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// folder is beside the timelines. Listings of links do not count it.
const folder = "switchovers/"

const (
	endName      = ".end"
	decisionName = ".decision"
)

// ID names one switchover. The IDs of one archive are in the order of their times.
type ID string

var valid = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$`)

// NewID returns the ID of a switchover that is asked for at that time. writer makes it differ from those of another writer.
func NewID(at time.Time, writer string) ID {
	return ID(at.UTC().Format("20060102T150405Z") + suffix(writer))
}

func suffix(writer string) string {
	sum := sha256.Sum256([]byte(writer))
	return "-" + hex.EncodeToString(sum[:4])
}

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
	// Writer is the EtcdBackup, as "<namespace>/<name>".
	Writer string `json:"writer,omitempty"`
}

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

// PutEnd stores an end. It is not an error if it is stored already.
func PutEnd(ctx context.Context, store objstore.Store, root string, e End) error {
	e.FormatVersion = archive.FormatVersion
	if err := put(ctx, store, e.ID.endKey(root), e); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("store the end of the archive: %w", err)
	}
	return nil
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

// Newest returns the end of the newest switchover of an archive. found is false if there is none.
func Newest(ctx context.Context, store objstore.Store, root string) (e End, found bool, err error) {
	newest := ID("")
	for object, err := range store.List(objstore.Unheld(ctx), root+folder) {
		if err != nil {
			return End{}, false, fmt.Errorf("list the switchovers: %w", err)
		}
		if name, isEnd := strings.CutSuffix(strings.TrimPrefix(object.Key, root+folder), endName); isEnd && valid.MatchString(name) {
			newest = max(newest, ID(name))
		}
	}
	if newest == "" {
		return End{}, false, nil
	}
	return ReadEnd(ctx, store, root, newest)
}

// Purge deletes the switchovers of one writer.
func Purge(ctx context.Context, store objstore.Store, root, writer string) error {
	for object, err := range store.List(objstore.Unheld(ctx), root+folder) {
		if err == nil && strings.Contains(strings.TrimPrefix(object.Key, root+folder), suffix(writer)+".") {
			err = store.Delete(ctx, object.Key)
		}
		if err != nil {
			return fmt.Errorf("delete the switchovers: %w", err)
		}
	}
	return nil
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
