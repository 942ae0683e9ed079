package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// pick chooses among the snapshots that fit, newest first, and records what it has passed over.
type pick struct {
	choice  Choice
	folder  string
	all     int         // snapshots below the folder
	listed  []candidate // those snapshots
	fitting []candidate
	signers snapshot.Signers

	chosen     candidate
	future     int
	failed     int
	noQuorum   int
	late       int    // snapshots that hold writes from after the time that the choice names
	foreign    int    // snapshots of other EtcdClusters with the same name
	others     int    // snapshots of other EtcdBackups, which may share the folder
	newestOf   string // the newest one of foreign that best has passed over
	unreadable []string
	skipped    string // why the snapshot was passed over that the status names
	// Newer snapshots than that one, whose signatures are missing or wrong, the newest of them, and what is wrong with it.
	unsignedNewer               int
	unsignedNewest, unsignedWhy string
}

// best chooses the newest snapshot that can be read and did not fail its restore test. One from the future is only
// chosen if there is no other, and one without quorum only if the choice admits it. A snapshot that the choice names is
// chosen whatever its verdict is. Without any readable
// snapshot chosen is empty, and the error is the store's.
func (p *pick) best(ctx context.Context, store objstore.Store, now time.Time) error {
	ordered := p.order(now)
	if len(ordered) == 0 {
		return p.allFailed()
	}
	var first error
	for _, e := range ordered {
		reading, err := read(ctx, store, e.Item, p.signers)
		if err == nil && reading.Err == nil {
			err = p.askFailed(ctx, store, &e)
		}
		if err == nil && e.Verdict == snapshot.Failed && p.passesFailed() {
			p.skip(e, "failed its restore test")
			p.failed++
			continue
		}
		if err == nil {
			err = p.unsigned(e, reading)
		}
		if p.endsBy(e, err) {
			return err
		}
		if err != nil { // it is newer, and not signed
			continue
		}
		done, err := p.judge(e, reading)
		if done {
			return err
		}
		first = cmp.Or(first, err)
	}
	if first == nil && p.noQuorum > 0 {
		return p.allWithoutQuorum()
	}
	if first == nil && p.failed == len(p.fitting) {
		return p.allFailed()
	}
	return first
}

// judge decides about one candidate, as it was read. It returns whether the choice ends with it. Without that, the error is the store's.
func (p *pick) judge(e candidate, reading catalog.Reading) (done bool, err error) {
	switch {
	case reading.Err == nil && p.belongsElsewhere(e, reading.Manifest):
	case reading.Err == nil && p.passes(reading.Manifest):
		p.skip(e, "was taken without quorum")
		if p.noQuorum++; p.noQuorum == noQuorumLimit {
			return true, p.allWithoutQuorum()
		}
	case reading.Err == nil:
		p.chosen = e
		return true, nil
	case errors.Is(reading.Err, snapshot.ErrNewerFormat):
		return true, fmt.Errorf("%s may be the newest snapshot: %w", snapshot.ManifestKey(e.Key), reading.Err)
	case errors.Is(reading.Err, fs.ErrNotExist): // removed meanwhile
	case ofStore(reading.Err):
		return true, fmt.Errorf("%s may be the newest snapshot, and the store does not return it: %w", snapshot.ManifestKey(e.Key), reading.Err)
	default:
		p.skip(e, "has a manifest that cannot be read")
		p.unreadable = append(p.unreadable, e.Key)
		if !errors.Is(reading.Err, snapshot.ErrManifest) {
			return false, reading.Err
		}
	}
	return false, nil
}

// askFailed asks whether a snapshot failed its restore test, if the listing does not have that.
func (p *pick) askFailed(ctx context.Context, store objstore.Store, e *candidate) error {
	if p.choice.Name != "" || e.Verdict == snapshot.Failed {
		return nil
	}
	failed, err := snapshot.FailedTest(ctx, store, e.Key)
	if failed {
		e.Verdict = snapshot.Failed
	}
	return err
}

// passesFailed reports whether snapshots that failed their restore tests are passed over.
func (p *pick) passesFailed() bool { return p.choice.Name == "" && !p.signers.Required() }

// endsBy reports whether an error about a snapshot ends the choice. A newer one that is not signed is passed over, up to a limit.
func (p *pick) endsBy(e candidate, err error) bool {
	return err != nil && (!p.passesUnsigned(e, err) || p.unsignedNewer == unsignedLimit)
}

// belongsElsewhere counts a snapshot that is not of the choice, and reports whether it is such a one.
func (p *pick) belongsElsewhere(e candidate, m snapshot.Manifest) bool {
	switch {
	case p.choice.claim(e.Key, m) == snapshot.Other:
		p.others++
	case p.choice.ofAnother(e.Key, m):
		p.skip(e, "is of another cluster, or from another Kubernetes")
		p.foreign++
		p.newestOf = cmp.Or(p.newestOf, e.Key)
	case p.choice.capturedLate(e.Item, m):
		p.skip(e, "was captured after "+p.choice.Before+", or may have been")
		p.late++
	default:
		return false
	}
	return true
}

// unsigned returns an error if a required signature is missing or wrong. An older snapshot is not taken silently, because who writes to the bucket
// would choose it then.
func (p *pick) unsigned(e candidate, reading catalog.Reading) error {
	failed := e.Verdict == snapshot.Failed && p.choice.Name == "" // order keeps such a one only if signatures are required
	switch {
	case snapshot.OfSignature(reading.Err):
		return fmt.Errorf("%s may be the newest snapshot: %w", e.Key, reading.Err)
	case failed && !p.choice.ofAnother(e.Key, reading.Manifest) && !p.choice.capturedLate(e.Item, reading.Manifest):
		return fmt.Errorf("%s may be the newest snapshot: %w: the result of its restore test, which it failed, has no signature: name the snapshot to restore", e.Key, snapshot.ErrNotSigned)
	}
	return nil
}

// order returns the snapshots that did not fail their restore tests, those from the future last.
func (p *pick) order(now time.Time) []candidate {
	var past, future []candidate
	for _, e := range p.fitting {
		switch {
		case e.Verdict == snapshot.Failed && p.passesFailed():
			p.skip(e, "failed its restore test")
			p.failed++
		case e.Future(now):
			p.skip(e, "has a time in the future")
			future = append(future, e)
		default:
			past = append(past, e)
		}
	}
	p.future = len(future)
	return append(past, future...)
}

// unsignedLimit is how many snapshots without the required signature are read in search of one that has it.
const unsignedLimit = 1000

// noQuorumLimit is how many snapshots without quorum are read in search of one with quorum.
const noQuorumLimit = 1000

// passes returns whether a snapshot is passed over, because it may lack writes that etcd confirmed to clients.
func (p *pick) passes(m snapshot.Manifest) bool {
	return m.NoQuorum && !p.choice.NoQuorum && p.choice.Name == ""
}

// skip records why a snapshot is passed over that the status names.
func (p *pick) skip(e candidate, why string) {
	if e.Key == p.choice.Recorded {
		p.skipped = why
	}
}

// passesUnsigned passes over a snapshot whose signature is missing or wrong, if it is newer than the one that the status names. Another
// EtcdBackup of the cluster may save into the folder without a signature. A writer of the bucket cannot change the status, so this leads
// to no older snapshot.
func (p *pick) passesUnsigned(e candidate, err error) bool {
	named, inSeries := snapshot.ParseKey(p.choice.Recorded)
	if !inSeries || !e.Time.After(named.Time) || !snapshot.OfSignature(err) {
		return false
	}
	if p.unsignedNewer++; p.unsignedNewer == 1 {
		p.unsignedNewest, p.unsignedWhy = e.Key, signatureProblem(err)
	}
	return true
}

// signatureProblem says in a few words what is wrong with a signature.
func signatureProblem(err error) string {
	for _, known := range []error{snapshot.ErrNotSigned, snapshot.ErrUnknownSigner, snapshot.ErrSignature} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

func (p *pick) allFailed() error {
	return fmt.Errorf("all %d snapshots that fit failed their restore tests: name one of them to restore it nevertheless: %w", p.failed, fs.ErrNotExist)
}

func (p *pick) allWithoutQuorum() error {
	return fmt.Errorf("the newest %d snapshots that fit were taken without quorum: set select.includeNoQuorum to true to restore the newest of them: %w", p.noQuorum, fs.ErrNotExist)
}
