package cluster

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

const (
	// rereads is how many Secrets and Certificates are read again in each second, although nothing suggests a change. It keeps
	// the reads of any number of idle clusters below one in a second.
	rereads = 0.9
	// rereadsAtOnce is how many may be read at the same time.
	rereadsAtOnce = 10
	// trustedPart is the part of a certificate's lifetime in which it is not expected to be renewed.
	trustedPart = 0.6
	// startingReads is how long reads are kept of a cluster whose members start or refuse the connection. A Secret may be the
	// cause, but mostly it is not.
	startingReads = 2 * time.Second
	// judged is how long the judgement of certificates is kept. It depends on the time only for renewals. It is longer than the
	// interval of full looks at any number of clusters: a new judgement ends the TLS sessions, too.
	judged = 10 * time.Minute
)

// keptReads is what was read of the Secrets and Certificates of one EtcdCluster. The operator may not list or watch Secrets, so
// it reads them by name. It keeps them while nothing suggests that one has changed. Its zero value keeps nothing.
type keptReads struct {
	objects map[string]client.Object
	// contents are the longer ones in the Secrets among them, by their hash.
	contents map[uint64][]byte
	// generation and annotations of the EtcdCluster that they were read for.
	generation  int64
	annotations map[string]string
	// until is when the first certificate in them may be renewed; zero if there is none.
	until time.Time
	// since is when the first of them was read.
	since time.Time
	// large means that a Secret was too large to be kept, and so is a judgement that holds it.
	large bool
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
	namedClients bool
	// tls is used for all connections to the members, so that their TLS sessions resume.
	tls *tls.Config
}

// judge uses the last judgement of what is kept, or makes one and keeps it.
func (r *Reconciler) judge(ctx context.Context, v *view) error {
	k := &v.known.kept
	if j := k.judgement; j != nil && v.Now.Sub(j.at) < judged {
		v.material, v.Certificates, v.ClientName, v.NamedClients, v.tls = j.material, j.certificates, j.clientName, j.namedClients, j.tls
		return nil
	}
	if err := r.observeSecrets(ctx, v); err != nil {
		return err
	}
	k.judgement = nil
	if c := v.Certificates; v.SecretProblem == "" && c.Foreign == "" && c.Unissued == "" && !c.Missing && !c.Superseded && !k.large {
		k.judgement = &judgement{v.Now, v.material, v.Certificates, v.ClientName, v.NamedClients, v.tls}
	}
	return nil
}

// newRereads limits reads that only confirm what is kept.
func newRereads() *rate.Limiter { return rate.NewLimiter(rereads, rereadsAtOnce) }

// confirms reports whether a number of objects may be read again now. The first must be free, and the others are owed: clusters with
// few objects must not always come before those with many.
func (r *Reconciler) confirms(objects int, now time.Time) bool {
	if objects == 0 || !r.rereads.AllowN(now, 1) {
		return false
	}
	r.rereads.ReserveN(now, min(objects-1, r.rereads.Burst()))
	return true
}

// keep decides whether a pass uses what earlier passes read.
func (r *Reconciler) keep(v *view) {
	k := &v.known.kept
	same := k.generation == v.cluster.Generation && maps.Equal(k.annotations, v.cluster.Annotations)
	renewed := !k.until.IsZero() && v.Now.After(k.until)
	if r.rereads == nil || !same || renewed || r.confirms(len(k.objects), v.Now) {
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

// maxKept is how many bytes of memory a Secret takes at most that is kept. A larger one, or one of many keys, is read in each pass, so that many of them fill no memory.
const maxKept = 64 << 10

// reads returns the reader of Secrets for a pass.
func (r *Reconciler) reads(v *view) client.Reader {
	if v.known == nil {
		return r.Client
	}
	return reader{r.Client, &v.known.kept}
}

// Get reads one object.
func (r reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	name := nameOfKept(into, key)
	if have := r.kept.objects[name]; have != nil {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(copyOf(have)).Elem())
		return nil
	}
	if err := r.Reader.Get(ctx, key, into, options...); err != nil {
		return err
	}
	if heldSize(into) > maxKept {
		r.kept.large = true
		return nil
	}
	have := r.kept.keepable(into)
	if r.kept.objects == nil {
		r.kept.objects = map[string]client.Object{}
	}
	r.kept.objects[name] = have
	r.kept.expect(have)
	return nil
}

// secretOf reads a Secret. The caller may only read it, because it is the one that is kept, and not a copy.
func (r *Reconciler) secretOf(ctx context.Context, v *view, name string) (*corev1.Secret, error) {
	key := client.ObjectKey{Namespace: v.Namespace, Name: name}
	if have := v.keptSecret(key); have != nil {
		return have, nil
	}
	var read corev1.Secret
	if err := r.reads(v).Get(ctx, key, &read); err != nil {
		return nil, err
	}
	return cmp.Or(v.keptSecret(key), &read), nil
}

func (v *view) keptSecret(key client.ObjectKey) *corev1.Secret {
	if v.known == nil {
		return nil
	}
	have, _ := v.known.kept.objects[nameOfKept(&corev1.Secret{}, key)].(*corev1.Secret)
	return have
}

func nameOfKept(object client.Object, key client.ObjectKey) string {
	return fmt.Sprintf("%T %s", object, key)
}

// keepable returns what is kept of an object. Of a Secret that is its owner, its annotations and its contents. The Secrets of an
// EtcdCluster have the same CA, which is kept once: the Secrets of a thousand clusters are a large part of the operator's memory.
func (k *keptReads) keepable(object client.Object) client.Object {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		have, _ := object.DeepCopyObject().(client.Object)
		have.SetManagedFields(nil)
		return have
	}
	kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: secret.Namespace, Name: secret.Name, ResourceVersion: secret.ResourceVersion,
		OwnerReferences: slices.Clone(secret.OwnerReferences), Annotations: maps.Clone(secret.Annotations),
	}}
	shareMeta(kept)
	if secret.Data != nil {
		kept.Data = make(map[string][]byte, len(secret.Data))
	}
	for key, content := range secret.Data {
		kept.Data[words.share(key)] = k.sharedContent(content)
	}
	return kept
}

// minShared is how many bytes a content has at least that is shared. Smaller ones are cheaper to keep than to find.
const minShared = 256

// contentSeed hashes the contents of Secrets. Others do not know it, so they cannot write contents with the same hash.
var contentSeed = maphash.MakeSeed()

// sharedContent returns the same content of a Secret that is kept, if there is one.
func (k *keptReads) sharedContent(content []byte) []byte {
	if len(content) < minShared {
		return content
	}
	hash := maphash.Bytes(contentSeed, content)
	if have := k.contents[hash]; bytes.Equal(have, content) {
		return have
	}
	if k.contents == nil {
		k.contents = map[uint64][]byte{}
	}
	k.contents[hash] = content
	return content
}

// copyOf copies an object. The copy of a Secret shares the contents of its keys, which nothing writes to.
func copyOf(object client.Object) runtime.Object {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return object.DeepCopyObject()
	}
	shared := *secret
	shared.ObjectMeta, shared.Data = *secret.ObjectMeta.DeepCopy(), maps.Clone(secret.Data)
	return &shared
}

// expect notes when the certificates in a Secret may be renewed.
func (k *keptReads) expect(object client.Object) {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return
	}
	for key, content := range secret.Data {
		if !strings.HasSuffix(key, ".crt") {
			continue
		}
		certificate, err := pki.ParseCertificate(content)
		if err != nil {
			continue
		}
		lifetime := certificate.NotAfter.Sub(certificate.NotBefore)
		if at := certificate.NotBefore.Add(time.Duration(trustedPart * float64(lifetime))); k.until.IsZero() || at.Before(k.until) {
			k.until = at
		}
	}
}
