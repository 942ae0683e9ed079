// Package tlssecret reads the certificates of Secrets that users provide. Such a Secret has the keys of coreos/etcd-operator, or those of the
// type kubernetes.io/tls.
package tlssecret

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Keys are those of a certificate, of its private key, and of the CAs that it is used with.
type Keys struct{ Cert, Key, CA string }

// The keys of each use of a Secret, and those of the type kubernetes.io/tls, which each use may have instead.
var (
	Peer     = Keys{v1beta2.PeerCertKey, v1beta2.PeerKeyKey, v1beta2.PeerCAKey}
	Server   = Keys{v1beta2.ServerCertKey, v1beta2.ServerKeyKey, v1beta2.ServerCAKey}
	Client   = Keys{v1beta2.ClientCertKey, v1beta2.ClientKeyKey, v1beta2.ClientCAKey}
	Standard = Keys{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, corev1.ServiceAccountRootCAKey}
)

func (k Keys) list() []string { return []string{k.Cert, k.Key, k.CA} }

func (k Keys) String() string { return k.Cert + ", " + k.Key + " and " + k.CA }

// Read returns the keys to read of a Secret.
func (k Keys) Read() []string { return append(k.list(), Standard.list()...) }

// used returns the keys that count in a Secret: its own, if the Secret has one of them, or else those of kubernetes.io/tls.
func (k Keys) used(data map[string][]byte) Keys {
	for _, key := range k.list() {
		if _, has := data[key]; has {
			return k
		}
	}
	if _, has := data[Standard.Cert]; has {
		return Standard
	}
	return k
}

// Of returns the three contents of a Secret under the keys of k, whichever keys the Secret has.
func (k Keys) Of(data map[string][]byte) map[string][]byte {
	used := k.used(data)
	return map[string][]byte{k.Cert: data[used.Cert], k.Key: data[used.Key], k.CA: data[used.CA]}
}

// Problem says which key a Secret lacks. It is empty if the Secret has all three.
func (k Keys) Problem(secret string, data map[string][]byte) string {
	for _, key := range k.used(data).list() {
		if len(data[key]) == 0 {
			return fmt.Sprintf("Secret %s has no key %s. It needs the keys %s. Or it needs %s, as Secrets of the type kubernetes.io/tls, and then none of the others.",
				secret, key, strings.Join(k.list(), ", "), Standard)
		}
	}
	return ""
}

// Names returns the keys of a Secret that count, for a message.
func (k Keys) Names(data map[string][]byte) string { return strings.Join(k.used(data).list(), ", ") }

// CAName returns the key with the CAs in a Secret, for a message.
func (k Keys) CAName(data map[string][]byte) string { return k.used(data).CA }

// Volume returns a volume with the three files of k, whichever keys the Secret has and gets later. What the Secret has under the
// keys of k replaces what it has under those of kubernetes.io/tls.
func (k Keys) Volume(secret string) corev1.VolumeSource {
	optional, ref := true, corev1.LocalObjectReference{Name: secret}
	standard := &corev1.SecretProjection{LocalObjectReference: ref, Optional: &optional}
	for i, key := range Standard.list() {
		standard.Items = append(standard.Items, corev1.KeyToPath{Key: key, Path: k.list()[i]})
	}
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{Secret: standard},
		{Secret: &corev1.SecretProjection{LocalObjectReference: ref}},
	}}}
}
