package backup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// answer is what came back from one endpoint.
type answer struct {
	URL string
	// Err is why the member said nothing.
	Err    error
	Status etcd.Status
	// NotServing is why a linearizable read failed: no quorum stands behind the member.
	NotServing error
}

// choose picks the member to take the snapshot from: a voter that serves linearizable reads, not the leader where
// there is a choice, and of those the one with the highest revision. clusterID, 16 hex digits, is the cluster that
// the members must be of; empty where nothing is known of it. Without quorum it is an error, or with mark the voter
// that knows most. The error is a *failedError.
func choose(answers []answer, clusterID string, mark bool) (answer, error) {
	answered, err := sameCluster(answers, clusterID)
	if err != nil {
		return answer{}, err
	}
	healthy, err := healthyVoters(answered)
	if most, found := mostAdvanced(answered); err != nil && mark && found {
		return most, nil
	}
	if err != nil {
		return answer{}, err
	}
	return slices.MinFunc(healthy, func(a, b answer) int {
		switch {
		case a.Status.Leader() != b.Status.Leader():
			return first(b.Status.Leader())
		case a.Status.Revision != b.Status.Revision:
			return first(a.Status.Revision > b.Status.Revision)
		}
		return strings.Compare(a.URL, b.URL)
	}), nil
}

func first(yes bool) int {
	if yes {
		return -1
	}
	return 1
}

// sameCluster keeps those that answered, and makes sure that they speak of one cluster.
func sameCluster(answers []answer, clusterID string) ([]answer, error) {
	var answered []answer
	var silent, other []string
	for _, a := range answers {
		switch id := a.Status.ClusterID.String(); {
		case a.Err != nil:
			silent = append(silent, a.Err.Error())
		case clusterID != "" && id != clusterID:
			other = append(other, a.URL+" is of cluster "+id)
		default:
			answered = append(answered, a)
		}
	}
	if len(answered) == 0 && len(other) > 0 {
		return nil, fail(v1beta2.ReasonClusterNotAvailable, fmt.Sprintf(
			"no member of cluster %s answers: %s", clusterID, strings.Join(append(other, silent...), "; ")))
	}
	if len(answered) == 0 {
		return nil, fail(v1beta2.ReasonEndpointUnreachable, fmt.Sprintf(
			"none of the %d endpoints answers; check their addresses, the network and TLS: %s", len(answers), strings.Join(silent, "; ")))
	}
	for _, a := range answered {
		if a.Status.ClusterID != answered[0].Status.ClusterID {
			return nil, fail(v1beta2.ReasonInvalidSpec, fmt.Sprintf(
				"etcdEndpoints are of different etcd clusters: %s is of cluster %s and %s of cluster %s; write those of one",
				answered[0].URL, answered[0].Status.ClusterID, a.URL, a.Status.ClusterID))
		}
	}
	return answered, nil
}

func healthyVoters(answered []answer) ([]answer, error) {
	var healthy []answer
	var why []string
	for _, a := range answered {
		switch {
		case a.Status.Learner:
			why = append(why, a.URL+" is a learner")
		case a.NotServing != nil:
			why = append(why, a.NotServing.Error())
		case corrupt(a.Status):
			why = append(why, a.URL+" has the alarm CORRUPT")
		default:
			healthy = append(healthy, a)
		}
	}
	if len(healthy) == 0 {
		return nil, fail(v1beta2.ReasonClusterNotAvailable, fmt.Sprintf(
			"no voter of cluster %s is healthy, and the snapshot of any other could be out of date; see that a quorum of members runs, or write noQuorum: Mark to save what is left of it: %s",
			answered[0].Status.ClusterID, strings.Join(why, "; ")))
	}
	return healthy, nil
}

// mostAdvanced is the voter that knows most of what was proposed, though not what of it was confirmed.
func mostAdvanced(answered []answer) (answer, bool) {
	var voters []answer
	for _, a := range answered {
		if !a.Status.Learner && !corrupt(a.Status) {
			voters = append(voters, a)
		}
	}
	if len(voters) == 0 {
		return answer{}, false
	}
	return slices.MaxFunc(voters, func(a, b answer) int {
		return cmp.Or(cmp.Compare(a.Status.RaftTerm, b.Status.RaftTerm), cmp.Compare(a.Status.RaftIndex, b.Status.RaftIndex),
			cmp.Compare(a.Status.Revision, b.Status.Revision), strings.Compare(b.URL, a.URL))
	}), true
}

// corrupt says whether etcd has found this member's data to differ from the others'. Every member lists the
// alarms of all as "memberID:<decimal> alarm:CORRUPT".
func corrupt(s etcd.Status) bool {
	own := fmt.Sprintf("memberID:%d ", uint64(s.MemberID))
	return slices.ContainsFunc(s.Errors, func(e string) bool {
		return strings.Contains(e, "CORRUPT") && strings.HasPrefix(e, own)
	})
}
