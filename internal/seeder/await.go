package seeder

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// following is a Seeder while it follows an archive with one Secret.
type following struct {
	*Seeder
	request seed.Request
	options standby.Options
	// users is the state of authentication of a source that has stopped. The standby begins again from the snapshot with it.
	users atomic.Pointer[auth.State]
}

// awaitEnd ends the following when the annotation of the Pod asks for the promotion, and there is something to promote. It also ends it when the Secret has other
// credentials. A standby continues with those of a Secret that was removed.
func (s *following) awaitEnd(ctx context.Context, end context.CancelCauseFunc) {
	ticker := time.NewTicker(promotePoll)
	defer ticker.Stop()
	for {
		if s.promotionAsked() == v1beta2.FollowPromoteNow && s.progress.hasBase() {
			end(errPromoted)
			return
		}
		if now, err := mounted(s.CredentialsDir, s.request.Source.Secret); err == nil && len(now) > 0 && !maps.EqualFunc(now, s.secret, bytes.Equal) {
			end(errSecretChanged)
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// promotePoll is how often a standby looks whether it is to be promoted.
const promotePoll = 300 * time.Millisecond

// errPromoted ends the following, because the promotion was asked for. errStopped ends it, because the source has stopped, and a planned promotion was asked for.
var (
	errPromoted = errors.New("the promotion was asked for")
	errStopped  = errors.New("the source has stopped")
)

// errSecretChanged ends the following, because the store must be opened with other credentials.
var errSecretChanged = errors.New("the Secret has changed")

// promotionAsked returns the promotion that the annotation of the Pod asks for. It is empty if it asks for none.
func (s *Seeder) promotionAsked() v1beta2.FollowPromotion {
	content, err := os.ReadFile(filepath.Join(s.PodDir, seed.PromoteFile))
	if err != nil {
		return ""
	}
	return v1beta2.FollowPromotion(bytes.TrimSpace(content))
}
