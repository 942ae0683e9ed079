package source

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// because explains in one sentence what was chosen.
func (p *pick) because() string {
	text := fmt.Sprintf("the newest of %d snapshots below %s", len(p.fitting), p.folder)
	if p.choice.Name != "" {
		text = "the one below " + p.folder + " that is called " + p.choice.Name
	} else if len(p.fitting) < p.all {
		text = fmt.Sprintf("the newest of %d snapshots that fit, of %d below %s", len(p.fitting), p.all, p.folder)
	}
	text += fmt.Sprintf(": taken at %s of cluster ID %s", p.chosen.Time.UTC().Format(time.RFC3339), p.chosen.clusterID)
	others, verified := map[string]bool{}, ""
	for _, e := range p.fitting {
		if e.clusterID != p.chosen.clusterID {
			others[e.clusterID] = true
		}
		if verified == "" && e.Verdict == snapshot.Passed {
			verified = e.Key
		}
	}
	if len(others) > 0 {
		text += fmt.Sprintf("; there are older ones of %d other cluster IDs of the same cluster name: select.clusterID chooses among them", len(others))
	}
	switch {
	case p.chosen.Verdict == snapshot.Failed:
		text += "; it failed its restore test"
	case p.chosen.Verdict == "" && verified != "":
		text += "; it has had no restore test, and the newest that passed one is " + verified
	}
	if p.failed > 0 {
		text += fmt.Sprintf("; %d failed their restore tests and do not count", p.failed)
	}
	if p.noQuorum > 0 {
		text += fmt.Sprintf("; %d newer ones were taken without quorum and do not count", p.noQuorum)
	}
	if p.late > 0 {
		text += fmt.Sprintf("; %d were begun by %s and captured after it, or may have been, and do not count", p.late, p.choice.Before)
	}
	if p.foreign > 0 {
		text += fmt.Sprintf("; %d are of other EtcdClusters with the same name, are from another Kubernetes, or name another cluster in their manifests, and do not count", p.foreign)
	}
	if p.future > 0 {
		text += fmt.Sprintf("; %d have a time in the future", p.future)
	}
	if n := len(p.unreadable); n > 0 {
		text += fmt.Sprintf("; %d manifests cannot be read and do not count, the newest is that of %s", n, p.unreadable[0])
	}
	return text
}

// passedOver explains that all snapshots that could have been chosen are foreign. It is empty if none is.
func (p *pick) passedOver() string {
	if p.newestOf == "" {
		return ""
	}
	return fmt.Sprintf("%d snapshots are from another Kubernetes, or name another cluster in their manifests, and do not count. The newest is %s. "+
		"To restore it, write its name into etcdBackup.snapshot, or its path into the block of backupStorageType", p.foreign, p.newestOf)
}

// whyNamed says why no newer snapshot takes the place of the one that the status names. It is empty if none could have.
func (p *pick) whyNamed() string {
	passed := len(p.fitting) - p.others
	if passed == 0 {
		return ""
	}
	text := "the status of the EtcdBackup names it"
	if unusable := passed - p.foreign - p.unsignedNewer; unusable > 0 {
		text += fmt.Sprintf(", and of %d newer ones %d were taken without quorum and %d cannot be read", unusable, p.noQuorum, unusable-p.noQuorum)
	}
	if p.foreign == 0 {
		return joined(text, p.whyNotSigned())
	}
	return joined(text, p.whyNotSigned(), p.passedOver())
}
