package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Result is what a restore test has found about a snapshot. The empty Result means that the snapshot is not verified.
type Result string

const (
	// Passed means that the snapshot could be restored.
	Passed Result = "passed"
	// Failed means that the snapshot could not be restored, or differed from its cluster.
	Failed Result = "failed"
)

// Results are all results that have a name in a store.
var Results = []Result{Passed, Failed}

// Verdict is the object that records the result of a restore test. Its result is part of its name, so that one listing
// returns all results of a series. Its content explains the result. Readers ignore unknown fields.
type Verdict struct {
	FormatVersion int    `json:"formatVersion"`
	Result        Result `json:"result"`
	// Time at which the test ended.
	Time time.Time `json:"time"`
	// SHA256 of the tested object, 64 hex digits; empty if the test did not read the whole object.
	SHA256 string `json:"sha256,omitempty"`
	// Backup is the name of the EtcdBackup that ran the test, in the cluster's namespace.
	Backup string `json:"backup,omitempty"`
	// Tool that ran the test, with its version.
	Tool string `json:"tool,omitempty"`
	// Message explains the result. It contains no secrets.
	Message bounded.Message `json:"message,omitempty"`
}

// verdictMark comes between a snapshot's key and the result in the name of a verdict. The name does not end in ".json",
// because earlier versions read every object with that suffix as a manifest.
const verdictMark = ".verdict-"

// VerdictKey returns the name of a verdict of the snapshot under key.
func VerdictKey(key string, result Result) string { return key + verdictMark + string(result) }

// TestedKey returns the key of the snapshot that a verdict is about. It returns false for any other name, and for a result
// that this version does not know.
func TestedKey(name string) (key string, ok bool) {
	for _, result := range Results {
		if key, ok := strings.CutSuffix(name, verdictMark+string(result)); ok {
			return key, true
		}
	}
	return "", false
}

// IsVerdict reports whether name is the name of a verdict.
func IsVerdict(name string) bool {
	_, ok := TestedKey(name)
	return ok
}

// WriteVerdict records the result of a restore test of the snapshot under key, and removes an earlier result. If the
// process is killed in between, both results are in the store and the snapshot counts as failed.
func WriteVerdict(ctx context.Context, store objstore.Store, key string, v Verdict) error {
	if err := writeVerdict(ctx, store, key, v); err != nil {
		return fmt.Errorf("record the result of the restore test of snapshot %s: %w", key, err)
	}
	return nil
}

func writeVerdict(ctx context.Context, store objstore.Store, key string, v Verdict) error {
	name := VerdictKey(key, v.Result)
	if len(name) > maxKey {
		return nil // the snapshot counts as not verified
	}
	v.FormatVersion = FormatVersion
	content, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	put := func() error { return store.Put(ctx, name, objstore.NewMetadata(append(content, '\n'))) }
	err = put()
	if errors.Is(err, fs.ErrExist) {
		// An earlier test had the same result. A new object has the time of this test. A store that deletes nothing keeps
		// the earlier object, which has the same result.
		if err = store.Delete(ctx, name); err == nil {
			err = put()
		} else if errors.Is(err, fs.ErrPermission) {
			err = nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, other := range Results {
		if other == v.Result {
			continue
		}
		if err := removeVerdict(ctx, store, key, other, v.Result); err != nil {
			return err
		}
	}
	return nil
}

// removeVerdict deletes the result of an earlier test. Credentials that may not delete are no problem if there is no such
// result, or if the snapshot has failed now: that result wins.
func removeVerdict(ctx context.Context, store objstore.Store, key string, earlier, now Result) error {
	name := VerdictKey(key, earlier)
	err := store.Delete(ctx, name)
	switch {
	case !errors.Is(err, fs.ErrPermission):
		return err
	case now == Failed:
		return nil
	}
	body, missing := store.Get(ctx, name)
	if errors.Is(missing, fs.ErrNotExist) {
		return nil
	}
	if missing == nil {
		_ = body.Close()
	}
	return err
}

// FailedTest asks the store whether a snapshot failed its restore test. A listing may omit that result, and the snapshot would count as untested or
// proven. A store that refuses to say it counts as one without the result, because it refuses the same for objects that do not exist.
func FailedTest(ctx context.Context, store objstore.Getter, key string) (bool, error) {
	gone, err := objstore.Gone(ctx, store, VerdictKey(key, Failed))
	if errors.Is(err, fs.ErrPermission) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for the result of the restore test of %s: %w", key, err)
	}
	return !gone, nil
}

// ReadVerdict reads the explanation of a result. An unreadable one is an error, but the result stands.
func ReadVerdict(ctx context.Context, store objstore.Store, key string, result Result) (Verdict, error) {
	name := VerdictKey(key, result)
	body, err := store.Get(ctx, name)
	if err != nil {
		return Verdict{}, err
	}
	defer body.Close()
	var v Verdict
	if err := bounded.Read(body, &v); err != nil {
		return Verdict{}, fmt.Errorf("read %s: %w", name, err)
	}
	return v, nil
}

// CheckWritten is CheckKey for a snapshot that is to be saved: the name of its test result must fit, too.
func CheckWritten(key string) error {
	if room := maxKey - len(VerdictKey("", Passed)); len(key) > room {
		return fmt.Errorf("key has %d bytes: at most %d are allowed, so that the name of its test result is no longer than %d", len(key), room, maxKey)
	}
	return CheckKey(key)
}
