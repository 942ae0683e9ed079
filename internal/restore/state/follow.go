package state

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Following reports whether a cluster is a standby that was not promoted yet.
func Following(c v1beta2.ClusterRestoreStatus) bool {
	return c.Follow != nil && c.Follow.Promote != v1beta2.FollowPromoteNow && c.Follow.Promoted == nil && c.Step == v1beta2.RestoreSeeding
}

// PromotedSentence says up to where a promoted standby has the writes of its source. It is empty for any other restore.
func PromotedSentence(c v1beta2.ClusterRestoreStatus) string {
	if c.Follow == nil || c.Follow.Promoted == nil {
		return ""
	}
	p := c.Follow.Promoted
	if p.Planned {
		return fmt.Sprintf(" It has all writes of its source, up to revision %d.", p.Revision)
	}
	text := fmt.Sprintf(" It has the writes of its source up to revision %d", p.Revision)
	if p.Time != nil {
		text += ", which was written before " + p.Time.UTC().Format(time.RFC3339)
	}
	return text + ". Later writes of the source are lost."
}
