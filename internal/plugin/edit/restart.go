package edit

import (
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/runbook"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// annotationRestartedAt on Pods is what kubectl rollout restart sets. The operator restarts members whose Pods have another value.
const annotationRestartedAt = "kubectl.kubernetes.io/restartedAt"

// Restart asks for new Pods of all members.
func Restart(c *v1beta2.EtcdCluster, now time.Time) {
	if c.Spec.Pod == nil {
		c.Spec.Pod = &v1beta2.PodPolicy{}
	}
	annotations := maps.Clone(c.Spec.Pod.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationRestartedAt] = terminal.Stamp(now)
	c.Spec.Pod.Annotations = annotations
}

// Scale sets the number of members.
func Scale(c *v1beta2.EtcdCluster, size int) error {
	switch {
	case size < 1 || size > 7:
		return fmt.Errorf("a cluster has 1 to 7 members, and %d are asked for. Nothing was changed. Write 3 (tolerates the loss of one member) or 5 (tolerates the loss of two)", size)
	case size == c.Spec.Size:
		return fmt.Errorf("EtcdCluster %s has the size %d already. Nothing was changed", c.Name, size)
	}
	c.Spec.Size = size
	return nil
}

// ScaleQuestion names what a change of the size does, and what it does not.
func ScaleQuestion(c v1beta2.EtcdCluster, size int) string {
	text := fmt.Sprintf("EtcdCluster %s changes from %d to %d members, one at a time. It then tolerates the loss of %s.", c.Name, c.Spec.Size, size, lossOf(size))
	if size < c.Spec.Size {
		text += " The volumes of the members that are removed are deleted."
	}
	if size%2 == 0 {
		text += fmt.Sprintf(" %d members tolerate no more losses than %d, and make writes slower.", size, size-1)
	}
	return text
}

func lossOf(size int) string {
	switch lost := (size - 1) / 2; lost {
	case 0:
		return "no member"
	case 1:
		return "one member"
	default:
		return fmt.Sprintf("%d members", lost)
	}
}

// RotateCA asks for a new certificate authority.
func RotateCA(c *v1beta2.EtcdCluster, now time.Time) error {
	if c.Spec.TLS == nil || c.Spec.TLS.Managed == nil {
		return fmt.Errorf("the operator issues no certificates of EtcdCluster %s, because spec.TLS.managed is not set. Nothing was changed. To replace another certificate authority, see %s", c.Name, runbook.PageURL("tls.md"))
	}
	setAnnotation(c, v1beta2.AnnotationRotateCA, terminal.Stamp(now))
	return nil
}

// rotating are the reasons that a cluster has while its CA is replaced.
var rotating = []string{v1beta2.ReasonRotatingCertificates, v1beta2.ReasonIssuingCertificates, v1beta2.ReasonRolling}

// FollowRotation returns the progress until the operator has begun to replace the CA. The rest takes twice caOverlap.
func FollowRotation(c v1beta2.EtcdCluster) Step {
	for _, reason := range rotating {
		if observed.HasReason(c.Status.Conditions, reason) {
			ready := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionReady)
			return Step{Line: ready.Reason + ": " + terminal.OneLine(ready.Message), Done: true}
		}
	}
	return Step{Line: "waiting for cluster-operator to begin the replacement of the CA"}
}
