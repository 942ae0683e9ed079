package restore

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcd-suite/etcd-operator/internal/restore/plan"
)

// While authentication is off, a wrong or missing Secret of the user must not prevent the safety snapshot.
func TestASafetySnapshotNeedsNoUserWhileAuthenticationIsOff(t *testing.T) {
	by, err := accessOf(plan.SafetyOrder{AuthSecret: "login"}, SafetySecrets{}, nil)
	if err != nil || by.Login != nil {
		t.Fatalf("access is %+v, %v", by, err)
	}
	refused := fmt.Errorf("status: %w", rpctypes.ErrUserEmpty)
	if err := explainAccess(by, refused); !errors.Is(err, rpctypes.ErrUserEmpty) || !strings.Contains(err.Error(), "Secret login") {
		t.Errorf("a refusal is explained as %v", err)
	}
	if other := errors.New("connection refused"); !errors.Is(explainAccess(by, other), other) || explainAccess(by, other).Error() != other.Error() {
		t.Errorf("another error is explained as %v", explainAccess(by, other))
	}
}
