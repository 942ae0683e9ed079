package edit

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// Recover consents to continue from one survivor. It refuses a cluster that has not lost its quorum: the consent would wait in the spec, and
// the operator would act on it without a question the next time that volumes are lost.
func Recover(c *v1beta2.EtcdCluster) error {
	if !observed.HasReason(c.Status.Conditions, v1beta2.ReasonQuorumLost) {
		return fmt.Errorf("EtcdCluster %s has not reported QuorumLost. Nothing was changed. See kubectl etcd status %s", c.Name, c.Name)
	}
	if c.Spec.ForcesNewCluster() {
		return fmt.Errorf("EtcdCluster %s has this consent already, and the operator has not begun. Nothing was changed. The status names what it waits for: kubectl etcd status %s", c.Name, c.Name)
	}
	if c.Spec.Recovery == nil {
		c.Spec.Recovery = &v1beta2.RecoveryPolicy{}
	}
	c.Spec.Recovery.QuorumLoss = v1beta2.QuorumLossForceNewCluster
	return nil
}

// Withdraw removes the consent of Recover.
func Withdraw(c *v1beta2.EtcdCluster) error {
	if c.Spec.Recovery != nil {
		c.Spec.Recovery.QuorumLoss = v1beta2.QuorumLossWait
	}
	return nil
}

// RecoverQuestion names what a recovery loses.
func RecoverQuestion(c v1beta2.EtcdCluster) string {
	ready := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionReady)
	reported := ""
	if ready != nil {
		reported = " It reports: " + terminal.OneLine(ready.Message)
	}
	return fmt.Sprintf("EtcdCluster %s continues from the member with the newest data that is left. Writes that only the lost members had are lost, and etcd may have acknowledged them.%s", c.Name, reported)
}

// FollowRecovery returns the progress of a recovery. earlier is the one in the status before.
func FollowRecovery(c v1beta2.EtcdCluster, earlier *v1beta2.ClusterRecoveryStatus) Step {
	r := c.Status.Recovery
	if r == nil || earlier != nil && r.StartedAt.Equal(earlier.StartedAt) {
		line := "waiting for cluster-operator to begin"
		if ready := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionReady); ready != nil {
			line += ": " + terminal.OneLine(ready.Message)
		}
		return Step{Line: line}
	}
	line := fmt.Sprintf("%s: the cluster continues from member %s. %s", r.Step, r.Member, terminal.OneLine(r.Message))
	return Step{Line: strings.TrimSpace(line), Done: r.Step == v1beta2.RecoveryComplete}
}

// RemoveForeign consents to remove a member that the operator did not add. It is named by its ID or its name.
func RemoveForeign(c *v1beta2.EtcdCluster, member string) error {
	if _, ok := foreignMember(*c, member); !ok {
		var known []string
		for _, m := range c.Status.ForeignMembers {
			known = append(known, m.ID)
		}
		if len(known) == 0 {
			return fmt.Errorf("EtcdCluster %s has no foreign member. Nothing was changed. To remove a member of the operator, use kubectl etcd replace or kubectl etcd scale", c.Name)
		}
		return fmt.Errorf("EtcdCluster %s has no foreign member %s. Nothing was changed. Its foreign members are: %s", c.Name, member, strings.Join(known, ", "))
	}
	asked := names(c.Annotations[v1beta2.AnnotationRemoveForeign])
	if !slices.Contains(asked, member) {
		setAnnotation(c, v1beta2.AnnotationRemoveForeign, strings.Join(append(asked, member), ","))
	}
	return nil
}

// ForgetForeign removes a member from the consent of RemoveForeign, after it was removed.
func ForgetForeign(c *v1beta2.EtcdCluster, member string) error {
	left := slices.DeleteFunc(names(c.Annotations[v1beta2.AnnotationRemoveForeign]), func(name string) bool { return name == member })
	if len(left) == 0 {
		delete(c.Annotations, v1beta2.AnnotationRemoveForeign)
		return nil
	}
	setAnnotation(c, v1beta2.AnnotationRemoveForeign, strings.Join(left, ","))
	return nil
}

// FollowForeign returns the progress until a foreign member is removed.
func FollowForeign(c v1beta2.EtcdCluster, member string) Step {
	if m, ok := foreignMember(c, member); ok {
		return asked(c, false, "foreign member "+m.ID+" is in the cluster")
	}
	return Step{Line: "foreign member " + member + " is removed", Done: true}
}

// ForeignQuestion describes the member that is removed.
func ForeignQuestion(c v1beta2.EtcdCluster, member string) string {
	m, _ := foreignMember(c, member)
	return fmt.Sprintf("Member %s (%s, %s) is removed from etcd cluster %s. The operator did not add it. If a migration is under way, end it first.",
		m.ID, terminal.Or(m.Name), strings.Join(m.PeerURLs, " "), c.Name)
}

func foreignMember(c v1beta2.EtcdCluster, member string) (v1beta2.ForeignMember, bool) {
	for _, m := range c.Status.ForeignMembers {
		if m.ID == member || m.Name == member && member != "" {
			return m, true
		}
	}
	return v1beta2.ForeignMember{}, false
}
