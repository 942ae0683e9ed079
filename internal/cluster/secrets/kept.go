package secrets

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

const (

	// trustedPart is the part of a certificate's lifetime in which it is not expected to be renewed.
	trustedPart = 0.6
)

// keptReads is what was read of the Secrets and Certificates of one EtcdCluster. The operator may not list or watch Secrets, so
// it reads them by name. It keeps them while nothing suggests that one has changed. Its zero value keeps nothing.
type keptReads struct {
	objects map[string]client.Object
	// contents are the longer ones in the Secrets among them, by their hash, and shared is how many bytes they have. Those of a Secret that was dropped are in it, too.
	contents map[uint64][]byte
	shared   int
	// costs are the other bytes of each object, and own is their sum.
	costs map[string]int
	own   int
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

// judgement is what ObserveSecrets found in the Secrets. Parsing certificates and checking their signatures costs more than all
// else in a look.
type judgement struct {
	at           time.Time
	material     material.Material
	certificates state.Certificates
	users        state.UserCertificates
	clientName   string
	namedClients bool
	// metadataDue are those of the Secrets and Certificates that do not have what spec.metadata asks for.
	metadataDue []state.MetadataDue
	// tls is used for all connections to the members, so that their TLS sessions resume.
	tls *tls.Config
}

// maxKept is how many bytes of memory a Secret or a Certificate takes at most that is kept. A larger one is read in each pass, so that many of them
// fill no memory.
const maxKept = 64 << 10

// maxOfCluster is the same for all Secrets and Certificates of one EtcdCluster. A cluster with a hundred users has three hundred of them, with 8 KiB for each user.
const maxOfCluster = 2 << 20

// put keeps what was read, unless it is too large, or others fill the memory of the cluster, or that of all clusters. admit reports whether the cluster may keep so many bytes.
func (k *keptReads) put(name string, read client.Object, admit func(bytes int) bool) {
	own, contents := k.costOf(read)
	all := k.own - k.costs[name] + own + k.shared + contents
	if kubecache.HeldSize(read) > maxKept || all > maxOfCluster || !admit(all) {
		k.large = true
		return
	}
	if k.costs == nil {
		k.costs = map[string]int{}
	}
	k.own += own - k.costs[name]
	k.costs[name] = own
	have := k.keepable(read)
	if k.objects == nil {
		k.objects = map[string]client.Object{}
	}
	k.objects[name] = have
	k.expect(have)
}

const (
	// perSecret and perContent are what a Secret takes in memory beside its contents, and a content beside its bytes.
	perSecret, perContent = 512, 64
)

// costOf returns how many bytes an object takes beside contents that are shared, and how many more of these there are with it.
func (k *keptReads) costOf(object client.Object) (own, contents int) {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return kubecache.HeldSize(object), 0
	}
	own = perSecret
	for _, content := range secret.Data {
		own += perContent
		switch {
		case len(content) < minShared:
			own += len(content)
		case !bytes.Equal(k.contents[maphash.Bytes(contentSeed, content)], content):
			contents += len(content)
		}
	}
	return own, contents
}

func nameOfKept(object client.Object, key client.ObjectKey) string {
	return fmt.Sprintf("%T %s", object, key)
}

// keepable returns what is kept of an object. Of a Secret that is its owner, its annotations and its contents. The Secrets of an
// EtcdCluster have the same CA, which is kept once: the Secrets of a thousand clusters are a large part of the operator's memory.
func (k *keptReads) keepable(object client.Object) client.Object {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return object
	}
	kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: secret.Namespace, Name: secret.Name, ResourceVersion: secret.ResourceVersion,
		OwnerReferences: slices.Clone(secret.OwnerReferences), Annotations: maps.Clone(secret.Annotations),
	}}
	kubecache.ShareMeta(kept)
	if secret.Data != nil {
		kept.Data = make(map[string][]byte, len(secret.Data))
	}
	for key, content := range secret.Data {
		kept.Data[kubecache.Words.Share(key)] = k.sharedContent(content)
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
	k.shared += len(content)
	return content
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
		k.expectAt(certificate.NotBefore.Add(time.Duration(trustedPart * float64(lifetime))))
	}
}

// expectAt notes a time from which what is kept may have changed.
func (k *keptReads) expectAt(at time.Time) {
	if k.until.IsZero() || at.Before(k.until) {
		k.until = at
	}
}

// drop forgets an object, so that the next judgement reads it again.
func (k *keptReads) drop(kind client.Object, key client.ObjectKey) {
	name := nameOfKept(kind, key)
	k.own -= k.costs[name]
	delete(k.objects, name)
	delete(k.costs, name)
}

// ofUsers returns what is kept of the Secrets with the certificates of users.
func (k *keptReads) ofUsers(v *view.View) keptReads {
	of := keptReads{generation: k.generation, annotations: k.annotations, objects: map[string]client.Object{}, contents: k.contents, shared: k.shared, costs: map[string]int{}}
	for _, user := range v.Spec.Auth.Certified() {
		certificate := client.ObjectKey{Namespace: v.Namespace, Name: v.Name + "-" + user}
		for _, name := range []string{
			nameOfKept(&corev1.Secret{}, client.ObjectKey{Namespace: v.Namespace, Name: state.UserSecret(v.State, user)}),
			nameOfKept(&corev1.Secret{}, client.ObjectKey{Namespace: v.Namespace, Name: certificate.Name + issuedSuffix}),
			nameOfKept(BlankCertificate(), certificate),
		} {
			if have := k.objects[name]; have != nil {
				of.objects[name], of.costs[name] = have, k.costs[name]
				of.own += k.costs[name]
			}
		}
	}
	return of
}
