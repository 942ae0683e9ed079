package secrets

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// A tenant wrote Secrets of 64 KiB with 4,600 keys each. Each content was compared with all others, so one pass used a processor for 35 s, and the
// clusters of others waited.
func TestSecretsOfManyKeysAreNotComparedWithEachOther(t *testing.T) {
	var kept keptReads
	for i := range 10 { // TLS.certManager reads as many
		data := map[string][]byte{}
		for k := range 4_600 {
			data[strconv.FormatInt(int64(k), 36)] = []byte(fmt.Sprintf("%x", i*4_600+k))
		}
		kept.keepable(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}, Data: data})
	}
	if len(kept.contents) > 0 {
		t.Errorf("%d small contents are compared with others", len(kept.contents))
	}
}

// A thousand clusters have a CA in several Secrets each. If each Secret kept its own copy, the operator would need far more memory.
func TestTheSameContentIsKeptOnce(t *testing.T) {
	const size = 32 << 10
	heaptest.Holds(t, 2*size>>10, func() any {
		kept := &keptReads{objects: map[string]client.Object{}}
		for i := range 20 {
			name := fmt.Sprint(i)
			kept.objects[name] = kept.keepable(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"ca.crt": bytes.Repeat([]byte("x"), size)}})
		}
		return kept
	})
}
