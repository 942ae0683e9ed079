package integration

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// hostile is a server that a tenant runs. It records what is sent to it. It also speaks HTTP/2 without TLS, because an etcd without TLS gets a login
// only by that.
type hostile struct {
	*httptest.Server
	mu   sync.Mutex
	sent []string
}

func newHostile(t *testing.T, answer http.HandlerFunc) *hostile {
	h := &hostile{}
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		headers, _ := json.Marshal(r.Header)
		h.mu.Lock()
		h.sent = append(h.sent, r.URL.String()+" "+string(headers)+" "+string(body))
		h.mu.Unlock()
		answer(w, r)
	}))
	h.Config.Protocols = new(http.Protocols)
	h.Config.Protocols.SetHTTP1(true)
	h.Config.Protocols.SetUnencryptedHTTP2(true)
	h.Start()
	t.Cleanup(h.Close)
	return h
}

// received reports whether a text was sent to the server.
func (h *hostile) received(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Contains(strings.Join(h.sent, "\n"), text)
}

// says answers each request with a status and a body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// demands answers each call as a member whose authentication is on.
func demands(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Grpc-Status", "3")
	w.Header().Set("Grpc-Message", "etcdserver: user name is empty")
	w.WriteHeader(http.StatusOK)
}

// endlessMiB ends an answer that the client does not end. A client that stops at 4 MiB has let the server write a few more into buffers.
const endlessMiB, mostMiB = 256, 32

// endless answers with a body without an end, and reports an answer of which the client has read too much.
func endless(t *testing.T, status int, begins string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		piece, sent := strings.Repeat("a", 1<<20), 0
		for _, err := io.WriteString(w, begins); err == nil && sent < endlessMiB; sent++ {
			_, err = io.WriteString(w, piece)
		}
		if sent > mostMiB {
			t.Errorf("the operator has read %d MiB of an answer that is no object", sent)
		}
	}
}

// lists gives each listing to answer. To all other requests it answers as a store without objects.
func lists(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Has("list-type"):
			answer(w, r)
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			says(http.StatusNotFound, "<Error><Code>NoSuchKey</Code></Error>")(w, r)
		}
	}
}

const (
	tenantsPassword = "the-password-of-a-tenant"
	tenantsToken    = "ya29.the-token-of-a-tenant"
)

// A tenant runs a server and names it in an EtcdBackup. The manual lists these tries (docs/security.md).
func TestTriesOfAServerOfATenant(t *testing.T) {
	t.Parallel()
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	b := newBackupBench(t)
	kubetest.Create(t,
		b.secret("google", map[string][]byte{"access-token": []byte(tenantsToken)}),
		b.secret("account", map[string][]byte{"credentials.json": []byte(`{"type":"service_account","client_email":"a@b","private_key":"x","token_uri":"http://127.0.0.1:1/token"}`)}),
		b.secret("user", map[string][]byte{corev1.BasicAuthUsernameKey: []byte("root"), corev1.BasicAuthPasswordKey: []byte(tenantsPassword)}),
	)
	page := "<html><title>" + objstoretest.Marker + "</title></html>"
	at := func(url string) func(*v1beta2.EtcdBackup) {
		return func(backup *v1beta2.EtcdBackup) { backup.Spec.S3.Endpoint = url }
	}
	// Only a series lists its folder.
	series := func(url string) func(*v1beta2.EtcdBackup) {
		return func(backup *v1beta2.EtcdBackup) {
			backup.Spec.S3.Endpoint, backup.Spec.BackupPolicy = url, &v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}
		}
	}
	google := func(secret, url string) func(*v1beta2.EtcdBackup) {
		return func(backup *v1beta2.EtcdBackup) {
			backup.Spec.StorageType = v1beta2.StorageGCS
			backup.Spec.Storage = v1beta2.Storage{GCS: &v1beta2.GCSSource{Path: "backups/key", GCPSecret: secret, Endpoint: url}}
		}
	}
	for name, try := range map[string]struct {
		answer http.HandlerFunc
		names  func(url string) func(*v1beta2.EtcdBackup)
		reason string
	}{
		"shows a page of another server":  {says(http.StatusForbidden, page), at, ""},
		"sends an error without an end":   {endless(t, http.StatusBadRequest, "<Error><Code>"), at, v1beta2.ReasonNotAStore},
		"sends a listing without an end":  {lists(endless(t, http.StatusOK, "<ListBucketResult><Contents><Key>")), series, v1beta2.ReasonNotAStore},
		"shows a page in place of Google": {says(http.StatusForbidden, page), func(url string) func(*v1beta2.EtcdBackup) { return google("", url) }, ""},
		"asks for a token of Google": {says(http.StatusForbidden, page), func(url string) func(*v1beta2.EtcdBackup) {
			return google("google", strings.Replace(url, "http:", "https:", 1))
		}, v1beta2.ReasonAccessDenied},
		"asks for a token by another token_uri": {says(http.StatusForbidden, page), func(string) func(*v1beta2.EtcdBackup) { return google("account", "") }, v1beta2.ReasonAccessDenied},
		// A client of etcd sends its password only to a member that demands it, so the server has to speak gRPC.
		"asks for the password of an etcd": {demands, func(url string) func(*v1beta2.EtcdBackup) {
			return func(backup *v1beta2.EtcdBackup) {
				backup.Spec.EtcdEndpoints, backup.Spec.ClientAuthSecret = []string{url}, "user"
			}
		}, ""},
		"shows a page as an etcd": {says(http.StatusForbidden, page), func(url string) func(*v1beta2.EtcdBackup) {
			return func(backup *v1beta2.EtcdBackup) { backup.Spec.EtcdEndpoints = []string{url} }
		}, ""},
	} {
		b.in(name, func(b *backupBench) {
			server := newHostile(b.T, try.answer)
			backup := b.backup(strings.ReplaceAll(strings.ToLower(name), " ", "-"), "backups/key", etcd.Endpoints()...)
			backup.Name = strings.ReplaceAll(backup.Name, "_", "-")
			try.names(server.URL)(backup)
			kubetest.Create(b, backup)
			kubetest.Await(b, backup, "report a failure", func(backup *v1beta2.EtcdBackup) bool {
				c := meta.FindStatusCondition(backup.Status.Conditions, v1beta2.ConditionReady)
				return c != nil && c.Status == metav1.ConditionFalse && backup.Status.Attempts > 0 && (try.reason == "" || c.Reason == try.reason)
			})
			// Without the check, the operator would reach the server, and report that it has no valid certificate.
			if name == "asks for a token of Google" && !strings.Contains(backup.Status.Reason, "key endpoint") {
				b.Errorf("the Secret is not the reason: %s", backup.Status.Reason)
			}
			b.tellsNothing(backup, objstoretest.Marker, tenantsPassword, tenantsToken)
			for _, secret := range []string{tenantsPassword, tenantsToken, b.server.SecretKey} {
				if server.received(secret) {
					b.Errorf("the server received a secret")
				}
			}
		})
	}
}

// tellsNothing checks that neither the object nor an event about it contains one of the texts.
func (b *backupBench) tellsNothing(about client.Object, texts ...string) {
	b.Helper()
	var events corev1.EventList
	if err := kubetest.Client(b).List(b.Context(), &events, client.InNamespace(b.namespace)); err != nil {
		b.Fatal(err)
	}
	all := kubetest.YAML(about)
	for i := range events.Items {
		all += kubetest.YAML(&events.Items[i])
	}
	for _, text := range texts {
		if strings.Contains(all, text) {
			b.Errorf("the status or an event has %q", text)
		}
	}
}
