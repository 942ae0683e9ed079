package dryrun

import (
	"errors"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

const (
	// rehearsalName ends the name of an object that exists in a dry run only. Names of members never end like this: their
	// suffixes have no vowels.
	rehearsalName = "-rehearsal"
	// RehearseAgain is how long a refusal counts for the same spec. A Pod that changes more often causes no more dry runs.
	RehearseAgain = 30 * time.Second
	// MaxQuote is how many bytes of an answer of the API server a message quotes.
	MaxQuote = 300
)

// Refusal says that a dry run found a reason not to carry out a step. Nothing was changed.
type Refusal struct{ Message string }

// lastRefusal is the newest refusal of a cluster's Pods.
type lastRefusal struct {
	generation int64
	at         time.Time
	err        *Refusal
}

func (r *Refusal) Error() string { return r.Message }

// RefusedStep is the wait that reports a refusal; false if err is none.
func RefusedStep(err error) (steps.Step, bool) {
	var refused *Refusal
	if !errors.As(err, &refused) {
		return nil, false
	}
	return steps.Wait{Reason: v1beta2.ReasonPodRefused, Message: refused.Message, Stalled: true, Requeue: RehearseAgain}, true
}

// refusedBy returns why the API server refuses an object for good. It returns the error if the API server may accept
// the same object later, and nothing for an answer that does not tell: a webhook that cannot take part in a dry run,
// and a quota, which counts the old object beside the new one (see refusedByQuota).
func refusedBy(err error) (said string, other error) {
	switch {
	case err == nil:
		return "", nil
	case strings.Contains(err.Error(), "exceeded quota"), strings.Contains(err.Error(), "does not support dry run"):
		return "", nil
	case kube.Refused(err):
		return strings.TrimRight(err.Error(), ". \n"), nil
	}
	return "", err
}
