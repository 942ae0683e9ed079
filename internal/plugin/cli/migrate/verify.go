package migrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
)

// verify compares both sides at the last revision of the source, and says that they are equal. If one of them cannot be asked, it returns why they were not compared.
func (m *migration) verify(ctx context.Context) (notCompared string, err error) {
	if m.objects.Backup == nil {
		return moving.NothingToCompare, nil
	}
	revision, differs := moving.Revision(m.objects)
	if differs != "" {
		return "", errors.New(moving.Mismatch(differs, m.objects))
	}
	verdict, err := m.compare(ctx, revision)
	switch {
	case ctx.Err() != nil:
		return "", m.ended(ctx, moving.Serving, errInterrupted)
	case err != nil:
		return moving.NotCompared(m.objects, revision, err), nil
	case verdict.Differs != "":
		return "", errors.New(moving.Mismatch(verdict.Differs, m.objects))
	}
	return "", m.say("Verified: " + verdict.Text)
}

// compare asks both sides.
func (m *migration) compare(ctx context.Context, revision int64) (moving.Verdict, error) {
	sides := sidesOf(m)
	source, err := sides.openSource(ctx)
	if err != nil {
		return moving.Verdict{}, fmt.Errorf("the source does not answer this machine: %w", err)
	}
	defer source.close()
	target, err := sides.openCluster(ctx, m.w, *m.objects.Cluster)
	if err != nil {
		return moving.Verdict{}, fmt.Errorf("the new cluster does not answer this machine: %w", err)
	}
	defer target.close()
	of, err := source.measured(ctx, revision)
	if err != nil {
		return moving.Verdict{}, fmt.Errorf("the source: %w", err)
	}
	to, err := target.measured(ctx, revision)
	if err != nil {
		return moving.Verdict{}, fmt.Errorf("the new cluster: %w", err)
	}
	verdict := moving.Compare(revision, of, to)
	if !verdict.MoreNeeded {
		return verdict, nil
	}
	if of.Digest, err = source.digest(ctx, revision); err != nil {
		return moving.Verdict{}, fmt.Errorf("the source: %w", err)
	}
	if to.Digest, err = target.digest(ctx, revision); err != nil {
		return moving.Verdict{}, fmt.Errorf("the new cluster: %w", err)
	}
	return moving.Compare(revision, of, to), nil
}
