package clients

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
)

// Choose picks the member to take the snapshot from. It is a voter that serves linearizable reads. A follower is better
// than the leader, and a higher revision is better than a lower one. If clusterID (16 hex digits) is not empty, the
// member must belong to that cluster. If no voter has a quorum, choose returns an error, or with mark the voter with the
// newest data. The error is a *failure.Error.
func Choose(answers []ask.Answer, clusterID string, mark bool) (ask.Answer, error) {
	if err := refused(answers); err != nil {
		return ask.Answer{}, err
	}
	answered, err := sameCluster(answers, clusterID)
	if err != nil {
		return ask.Answer{}, err
	}
	healthy, err := healthyVoters(answered)
	if most, found := mostAdvanced(answered); err != nil && mark && found {
		return most, nil
	}
	if err != nil {
		return ask.Answer{}, err
	}
	return ask.Best(healthy), nil
}

// sameCluster returns the members that answered. It fails if they belong to different clusters.
func sameCluster(answers []ask.Answer, clusterID string) ([]ask.Answer, error) {
	var answered []ask.Answer
	var silent, other []string
	for _, a := range answers {
		switch id := a.Status.ClusterID.String(); {
		case a.Err != nil:
			silent = append(silent, a.Err.Error())
		case clusterID != "" && id != clusterID:
			other = append(other, a.URL+" is a member of cluster "+id)
		default:
			answered = append(answered, a)
		}
	}
	if len(answered) == 0 && len(other) > 0 {
		return nil, failure.New(v1beta2.ReasonClusterNotAvailable, fmt.Sprintf(
			"No member of cluster %s answers, so the operator cannot take a snapshot of it: %s. Check whether the cluster was replaced.", clusterID, strings.Join(append(other, silent...), "; ")))
	}
	if len(answered) == 0 {
		return nil, failure.New(v1beta2.ReasonEndpointUnreachable, fmt.Sprintf(
			"None of the %d endpoints answers: %s. Check their addresses, the network and the TLS settings.", len(answers), strings.Join(silent, "; ")))
	}
	for _, a := range answered {
		if a.Status.ClusterID != answered[0].Status.ClusterID {
			return nil, failure.New(v1beta2.ReasonInvalidSpec, fmt.Sprintf(
				"The etcdEndpoints belong to different etcd clusters: %s is a member of cluster %s, and %s is a member of cluster %s. Write the endpoints of one cluster.",
				answered[0].URL, answered[0].Status.ClusterID, a.URL, a.Status.ClusterID))
		}
	}
	return answered, nil
}

func healthyVoters(answered []ask.Answer) ([]ask.Answer, error) {
	var healthy []ask.Answer
	var why []string
	for _, a := range answered {
		switch {
		case a.Status.Learner:
			why = append(why, a.URL+" is a learner")
		case a.NotServing != nil:
			why = append(why, a.NotServing.Error())
		case Corrupt(a.Status):
			why = append(why, a.URL+" has the alarm CORRUPT")
		default:
			healthy = append(healthy, a)
		}
	}
	if len(healthy) == 0 {
		return nil, failure.New(v1beta2.ReasonClusterNotAvailable, fmt.Sprintf(
			"No voter of cluster %s is healthy: %s. The operator takes no snapshot, because it could lack confirmed writes. Restore the quorum of the cluster, or write noQuorum: Mark to save the newest data that is left.",
			answered[0].Status.ClusterID, strings.Join(why, "; ")))
	}
	return healthy, nil
}

// mostAdvanced returns the voter with the newest data. Some of it may not be confirmed.
func mostAdvanced(answered []ask.Answer) (ask.Answer, bool) {
	var voters []ask.Answer
	for _, a := range answered {
		if !a.Status.Learner && !Corrupt(a.Status) {
			voters = append(voters, a)
		}
	}
	if len(voters) == 0 {
		return ask.Answer{}, false
	}
	return slices.MaxFunc(voters, func(a, b ask.Answer) int {
		return cmp.Or(cmp.Compare(a.Status.RaftTerm, b.Status.RaftTerm), cmp.Compare(a.Status.RaftIndex, b.Status.RaftIndex),
			cmp.Compare(a.Status.Revision, b.Status.Revision), strings.Compare(b.URL, a.URL))
	}), true
}

// Corrupt returns whether etcd has raised the alarm CORRUPT for this member. Every member lists the alarms of all
// members, as "memberID:<decimal> alarm:CORRUPT".
func Corrupt(s etcd.Status) bool { return s.Corrupt() }

// refused returns an error if etcd's authentication is why no member can be used.
func refused(answers []ask.Answer) error {
	var why []string
	var refusal etcd.Refusal
	for _, a := range answers {
		if a.Err == nil && a.NotServing == nil {
			return nil
		}
		for _, err := range []error{a.Err, a.NotServing} {
			if found := etcd.RefusalOf(err); found != etcd.NotRefused {
				refusal = found
				why = append(why, err.Error())
			}
		}
	}
	if refusal == etcd.NotRefused {
		return nil
	}
	return failure.New(v1beta2.ReasonEtcdAccessDenied, "Authentication is on in etcd, and it refuses the operator: "+strings.Join(why, "; ")+". "+failure.HowToPermit(refusal))
}
