package secrets

import (
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

const (
	// rereads is how many Secrets and Certificates are read again in each second, although nothing suggests a change. It keeps
	// the reads of any number of idle clusters below one in a second.
	rereads = 0.9
	// rereadsAtOnce is how many may be read at the same time.
	rereadsAtOnce = 10
	// startingReads is how long reads are kept of a cluster whose members start or refuse the connection. A Secret may be the
	// cause, but mostly it is not.
	startingReads = 2 * time.Second
	// judged is how long the judgement of certificates is kept. It depends on the time only for renewals. It is longer than the
	// interval of full looks at any number of clusters: a new judgement ends the TLS sessions, too.
	judged = 10 * time.Minute
)

// Judge uses the last judgement of what is kept, or makes one and keeps it.
func (s *Secrets) Judge(ctx context.Context, v *view.View) error {
	k := s.Memory.OfView(v)
	if j := k.judgement; j != nil && v.Now.Sub(j.at) < keptFor(j.users) {
		v.MetadataDue = append(v.MetadataDue, j.metadataDue...)
		v.Material, v.Certificates, v.ClientName, v.NamedClients, v.TLS = j.material, j.certificates, j.clientName, j.namedClients, j.tls
		v.UserCertificates = j.users
		return nil
	}
	before := len(v.MetadataDue)
	if err := s.ObserveSecrets(ctx, v); err != nil {
		return err
	}
	k.judgement = nil
	if c := v.Certificates; v.SecretProblem == "" && c.Foreign == "" && c.Unissued == "" && !c.Missing && !c.Superseded && !k.large && settled(v.UserCertificates) {
		k.judgement = &judgement{v.Now, v.Material, v.Certificates, v.UserCertificates, v.ClientName, v.NamedClients, slices.Clone(v.MetadataDue[before:]), v.TLS}
	}
	return nil
}

// settled reports whether nothing about the certificates of users is about to change.
func settled(u state.UserCertificates) bool {
	return len(u.Unread)+len(u.Requests)+len(u.Left) == 0
}

// keptFor is how long a judgement is kept. What cert-manager has yet to issue for users is read again soon, but the more there are, the less often: each of
// them needs three reads.
func keptFor(u state.UserCertificates) time.Duration {
	if len(u.Unissued) == 0 {
		return judged
	}
	return min(judged, time.Duration(len(u.Unissued))*time.Second)
}

// NewRereads limits reads that only confirm what is kept.
func NewRereads() *rate.Limiter { return rate.NewLimiter(rereads, rereadsAtOnce) }

// confirms reports whether a number of objects may be read again now. The first must be free, and the others are owed: clusters with
// few objects must not always come before those with many.
func (s *Secrets) confirms(objects int, now time.Time) bool {
	if objects == 0 || !s.Rereads.AllowN(now, 1) {
		return false
	}
	for owed := objects - 1; owed > 0; owed -= s.Rereads.Burst() {
		if !s.Rereads.ReserveN(now, min(owed, s.Rereads.Burst())).OK() {
			break
		}
	}
	return true
}

// Keep decides whether a pass uses what earlier passes read.
func (s *Secrets) Keep(v *view.View) {
	k := s.Memory.OfView(v)
	same := k.generation == v.Cluster.Generation && maps.Equal(k.annotations, v.Cluster.Annotations)
	renewed := !k.until.IsZero() && v.Now.After(k.until)
	if s.Rereads == nil || !same || renewed || s.confirms(len(k.objects), v.Now) {
		*k = keptReads{generation: v.Cluster.Generation, annotations: maps.Clone(v.Cluster.Annotations)}
		s.Ledger.set(v.Key(), 0)
	}
	if k.since.IsZero() {
		k.since = v.Now
	}
}

// Doubt drops what was read if something suggests that it changes: the operator wrote certificates or failed, or a Secret is
// wrong. If the operator did anything else, a Pod does not run (it may wait for a Secret), or a member refused the connection, it
// drops only what is older than startingReads, and no Secrets of users: members use none. A member that hangs says nothing about Secrets.
func (s *Secrets) Doubt(v *view.View, step steps.Step, err error, hangs func(v *view.View, member string) bool) {
	doubtful := err != nil || Writes(step) || v.HalfWritten || v.SecretProblem != "" || v.Certificates.Foreign != "" || v.Certificates.Unissued != "" ||
		v.Certificates.Missing || v.Certificates.Superseded || v.Authentication.Problem != ""
	unsettled := steps.Acts(step)
	for _, m := range v.Members {
		unsettled = unsettled || m.Pod != state.PodRunning || (!m.Answers && !hangs(v, m.Name))
	}
	switch k := s.Memory.OfView(v); {
	case doubtful:
		*k = keptReads{}
	case unsettled && v.Now.Sub(k.since) >= startingReads:
		*k = k.ofUsers(v)
	default:
		return
	}
	s.Ledger.set(v.Key(), s.Memory.OfView(v).own+s.Memory.OfView(v).shared) // never more than before
}

// Writes reports whether a step changes what is kept.
func Writes(step steps.Step) bool {
	switch step := step.(type) {
	case steps.CreateCA, steps.HandOutCA, steps.RequestCertificates, steps.WriteCertificates, steps.WriteUserCertificates, steps.RequestUserCertificates, steps.WithdrawUserCertificates:
		return true
	case steps.ApplyMetadata:
		return step.Kind == "Secret" || step.Kind == "Certificate"
	}
	return false
}
