package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

const (
	// rereads is how many EtcdClusters have their Secrets read again in each second, although nothing suggests a change. It
	// keeps the reads of any number of idle clusters below one in a second.
	rereads = 0.2
	// rereadsAtOnce is how many may be read at the same time.
	rereadsAtOnce = 3
	// trustedPart is the part of a certificate's lifetime in which it is not expected to be renewed.
	trustedPart = 0.6
	// startingReads is how long reads are kept of a cluster whose members start or refuse the connection. A Secret may be the
	// cause, but mostly it is not.
	startingReads = 2 * time.Second
	// judged is how long the judgement of certificates is kept. It depends on the time only for renewals.
	judged = time.Minute
)

// keptReads is what was read of the Secrets and Certificates of one EtcdCluster. The operator may not list or watch Secrets, so
// it reads them by name. It keeps them while nothing suggests that one has changed. Its zero value keeps nothing.
type keptReads struct {
	objects map[string]client.Object
	// generation and annotations of the EtcdCluster that they were read for.
	generation  int64
	annotations map[string]string
	// until is when the first certificate in them may be renewed; zero if there is none.
	until time.Time
	// since is when the first of them was read.
	since time.Time
	// judgement of the certificates in them; nil if there is none yet.
	judgement *judgement
}

// judgement is what observeSecrets found in the Secrets. Parsing certificates and checking their signatures costs more than all
// else in a look.
type judgement struct {
	at           time.Time
	material     plan.Material
	certificates plan.Certificates
	clientName   string
	// tls is used for all connections to the members, so that their TLS sessions resume.
	tls *tls.Config
}

// judge uses the last judgement of what is kept, or makes one and keeps it.
func (r *Reconciler) judge(ctx context.Context, v *view) error {
	k := &v.known.kept
	if j := k.judgement; j != nil && v.Now.Sub(j.at) < judged {
		v.material, v.Certificates, v.ClientName, v.tls = j.material, j.certificates, j.clientName, j.tls
		return nil
	}
	if err := r.observeSecrets(ctx, v); err != nil {
		return err
	}
	k.judgement = nil
	if c := v.Certificates; v.SecretProblem == "" && c.Foreign == "" && c.Unissued == "" && !c.Missing && !c.Superseded {
		k.judgement = &judgement{v.Now, v.material, v.Certificates, v.ClientName, v.tls}
	}
	return nil
}

// newRereads limits reads that only confirm what is kept.
func newRereads() flowcontrol.PassiveRateLimiter {
	return flowcontrol.NewTokenBucketPassiveRateLimiter(rereads, rereadsAtOnce)
}

// keep decides whether a pass uses what earlier passes read.
func (r *Reconciler) keep(v *view) {
	k := &v.known.kept
	same := k.generation == v.cluster.Generation && maps.Equal(k.annotations, v.cluster.Annotations)
	renewed := !k.until.IsZero() && v.Now.After(k.until)
	if r.rereads == nil || !same || renewed || (len(k.objects) > 0 && r.rereads.TryAccept()) {
		*k = keptReads{generation: v.cluster.Generation, annotations: maps.Clone(v.cluster.Annotations)}
	}
	if k.since.IsZero() {
		k.since = v.Now
	}
}

// doubt drops what was read if something suggests that it changes: the operator wrote certificates or failed, or a Secret is
// wrong. If the operator did anything else, a Pod does not run (it may wait for a Secret), or a member refused the connection, it
// drops only what is older than startingReads. A member that hangs says nothing about Secrets.
func (v *view) doubt(step plan.Step, err error) {
	doubtful := err != nil || writesSecrets(step) || v.SecretProblem != "" || v.Certificates.Foreign != "" || v.Certificates.Unissued != "" ||
		v.Certificates.Missing || v.Certificates.Superseded || v.Authentication.Problem != ""
	unsettled := plan.Acts(step)
	for _, m := range v.Members {
		q := v.known.questions[m.Name]
		hangs := q != nil && q.hung
		unsettled = unsettled || m.Pod != plan.PodRunning || (!m.Answers && !hangs)
	}
	if doubtful || (unsettled && v.Now.Sub(v.known.kept.since) >= startingReads) {
		v.known.kept = keptReads{}
	}
}

// writesSecrets says whether a step changes what is kept.
func writesSecrets(step plan.Step) bool {
	switch step.(type) {
	case plan.CreateCA, plan.RequestCertificates, plan.WriteCertificates:
		return true
	}
	return false
}

// reader reads what is kept, and keeps what it reads with another reader. Missing objects are read each time.
type reader struct {
	client.Reader
	kept *keptReads
}

// reads returns the reader of Secrets for a pass.
func (r *Reconciler) reads(v *view) client.Reader {
	if v.known == nil {
		return r.Client
	}
	return reader{r.Client, &v.known.kept}
}

// Get reads one object.
func (r reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	name := fmt.Sprintf("%T %s", into, key)
	if have := r.kept.objects[name]; have != nil {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(have.DeepCopyObject()).Elem())
		return nil
	}
	if err := r.Reader.Get(ctx, key, into, options...); err != nil {
		return err
	}
	have, ok := into.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	if r.kept.objects == nil {
		r.kept.objects = map[string]client.Object{}
	}
	have.SetManagedFields(nil)
	r.kept.objects[name] = have
	r.kept.expect(have)
	return nil
}

// expect notes when the certificates in a Secret may be renewed.
func (k *keptReads) expect(object client.Object) {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return
	}
	for key, content := range secret.Data {
		block, _ := pem.Decode(bytes.TrimSpace(content))
		if !strings.HasSuffix(key, ".crt") || block == nil {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		lifetime := certificate.NotAfter.Sub(certificate.NotBefore)
		if at := certificate.NotBefore.Add(time.Duration(trustedPart * float64(lifetime))); k.until.IsZero() || at.Before(k.until) {
			k.until = at
		}
	}
}
