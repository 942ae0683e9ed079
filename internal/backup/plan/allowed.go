package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// AllowedInterval is when an EtcdBackup that is refused is looked at again. Its Secret may have credentials by then. A change of the values
// restarts the operator, which looks at all.
const AllowedInterval = time.Minute

// pathIsNotAllowed comes before all rules that wait, so that the status of a series says it before the next snapshot is due.
func pathIsNotAllowed(s state.State) Step {
	if s.Refused == nil {
		return nil
	}
	return Refuse{Reason: s.Refused.Reason, Message: s.Refused.Message + " The operator takes no snapshot until then.", Again: AllowedInterval}
}
