package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// A Standby is an EtcdCluster that follows the continuous archive of another cluster, or was promoted.
type Standby struct {
	Restore string `json:"restore"`
	Cluster string `json:"cluster"`
	// Source is the cluster that it follows, as "<namespace>/<name>".
	Source     string     `json:"source,omitempty"`
	Phase      string     `json:"phase"`
	Revision   int64      `json:"revision,omitempty"`
	Time       *time.Time `json:"time,omitempty"`
	LagSeconds *int64     `json:"lagSeconds,omitempty"`
	// Fix is what a person can do.
	Fix string `json:"fix"`

	follow v1beta2.FollowStatus
}

// Phases of a standby.
const (
	standbyBegins   = "Begins"
	standbyFollows  = "Follows"
	standbyBehind   = "Behind"
	standbyBroken   = "Broken"
	standbyAwaits   = "AwaitsSource"
	standbyPromotes = "Promotes"
	standbyPromoted = "Promoted"
)

// standbys returns the cluster while it is a standby, and the standbys of the cluster in its namespace. One in another namespace is not known here.
func standbys(o observed.Objects) []Standby {
	var archives []string
	for _, b := range observed.BackupsOf(o.Cluster.Name, o.Backups) {
		archives = append(archives, b.Name)
	}
	var found []Standby
	for _, r := range o.Restores {
		own := r.Spec.EtcdCluster.Name == o.Cluster.Name && !observed.IsTrue(r.Status.Conditions, v1beta2.ConditionComplete)
		of := r.Spec.EtcdBackup != nil && slices.Contains(archives, r.Spec.EtcdBackup.Name)
		if r.Spec.Follows() && !observed.IsTrue(r.Status.Conditions, v1beta2.ConditionFailed) && (own || of) {
			found = append(found, standbyOf(r))
		}
	}
	return found
}

func standbyOf(r v1beta2.EtcdRestore) Standby {
	s := Standby{Restore: r.Name, Cluster: r.Spec.EtcdCluster.Name, Phase: standbyBegins}
	if f := r.Status.Follow; f != nil {
		s.Source, s.Revision, s.LagSeconds, s.follow = f.Cluster, f.Revision, f.LagSeconds, f.FollowStatus
		s.Phase = phaseOf(r, f.FollowStatus)
		at := f.Time
		if f.Promoted != nil {
			s.Revision, at = f.Promoted.Revision, f.Promoted.Time
		}
		if at != nil {
			s.Time = &at.Time
		}
	}
	s.Fix = s.fix(r)
	return s
}

func phaseOf(r v1beta2.EtcdRestore, f v1beta2.FollowStatus) string {
	following := meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionFollowing)
	switch {
	case f.Promoted != nil:
		return standbyPromoted
	case f.Promote == v1beta2.FollowPromoteNow:
		return standbyPromotes
	case f.Revision == 0:
		return standbyBegins
	case f.Cause != "":
		return standbyBroken
	case following == nil || following.Status != "True":
		return standbyBehind
	case f.Promote == v1beta2.FollowPromotePlanned:
		return standbyAwaits
	}
	return standbyFollows
}

// fix returns what a person can do with a standby. One of kubectl etcd migrate is continued by that command.
func (s Standby) fix(r v1beta2.EtcdRestore) string {
	handOver := "To move the clients to it, see " + runbook.PageURL("standby.md#move-the-clients-to-it")
	if r.Annotations[moving.AnnotationFrom] != "" {
		handOver = fmt.Sprintf("To move the clients to it: kubectl etcd migrate %s -n %s", s.Cluster, r.Namespace)
	}
	switch s.Phase {
	case standbyBegins:
		return "Wait until it has read its first snapshot."
	case standbyBehind:
		return "Wait until it is less than 30s behind, or correct what status.follow.message of the EtcdRestore names."
	case standbyBroken:
		return "It begins again from the next snapshot of the source. To have one at once, take a snapshot."
	case standbyPromotes, standbyPromoted:
		return "Point the clients to EtcdCluster " + s.Cluster + " when it is ready."
	}
	return handOver
}

// line describes a standby for a person.
func (s Standby) line(now time.Time) string {
	state := strings.TrimPrefix(moving.Behind(s.follow), "the standby ")
	switch s.Phase {
	case standbyPromoted:
		state = fmt.Sprintf("was promoted with revision %d", s.Revision)
	case standbyPromotes:
		state = fmt.Sprintf("is being promoted, and has revision %d", s.Revision)
	case standbyBroken:
		state = fmt.Sprintf("keeps revision %d, because it cannot follow the archive any further (%s)", s.Revision, s.follow.Cause)
	}
	if s.Time != nil && s.Phase != standbyBegins {
		state += fmt.Sprintf(". That revision was written before %s (%s)", terminal.Stamp(*s.Time), terminal.Ago(now, *s.Time))
	}
	return fmt.Sprintf("Standby: EtcdCluster %s of %s %s. %s", s.Cluster, cmp.Or(s.Source, "an archive that is not known yet"), state, s.Fix)
}
