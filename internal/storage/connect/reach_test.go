package connect_test

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/signed"
	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
	"github.com/etcd-suite/etcd-operator/internal/pki"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/reach"
)

// house is a network in which stores are reached through a proxy only, and have certificates of a private CA.
type house struct {
	proxy    string
	ca       string
	tunnels  atomic.Int32 // through the proxy
	requests atomic.Int32 // that the store has answered
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{}
	store := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h.requests.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(store.Close)
	h.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: store.Certificate().Raw}))
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		to, err := net.Dial("tcp", store.Listener.Addr().String())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		h.tunnels.Add(1)
		w.WriteHeader(http.StatusOK)
		from, read, err := http.NewResponseController(w).Hijack() // the server has perhaps read the first bytes of the client
		if err != nil {
			t.Error(err)
			return
		}
		go func() { _, _ = io.Copy(to, read); _ = to.Close() }()
		_, _ = io.Copy(from, to)
		_ = from.Close()
	}))
	t.Cleanup(proxy.Close)
	h.proxy = proxy.URL
	return h
}

// apply sets the settings for the test.
func apply(t *testing.T, s reach.Settings) error {
	t.Helper()
	before := http.DefaultTransport
	http.DefaultTransport = before.(*http.Transport).Clone()
	t.Cleanup(func() {
		http.DefaultTransport = before
		stall.Configure(nil, nil)
	})
	return s.Apply()
}

// Backups went through the proxy, and the seed of a restore did not, so the restore failed on the day of the disaster. A store that forgot the
// settings would do the same. example.com is a name of the certificate of httptest.
func TestEachStoreIsReachedThroughTheProxyAndByThePrivateCA(t *testing.T) {
	h := newHouse(t)
	if err := apply(t, reach.Settings{reach.EnvHTTPSProxy: h.proxy, reach.EnvCACertificates: h.ca}); err != nil {
		t.Fatal(err)
	}
	readers := map[string]func() (objstore.Getter, error){
		"a signed URL": func() (objstore.Getter, error) {
			return signed.Reader{URL: func() (objstore.SignedURL, error) { return objstore.SignedURL{URL: "https://example.com/x?sig=y"}, nil }}, nil
		},
	}
	for provider, secret := range map[v1beta2.StorageType]map[string][]byte{
		v1beta2.StorageS3:  {"access-key-id": []byte("key"), "secret-access-key": []byte("secret")},
		v1beta2.StorageGCS: {"access-token": []byte("t"), "endpoint": []byte("https://example.com")},
		v1beta2.StorageABS: {"storage-account": []byte("account"), "storage-key": []byte("c2VjcmV0")},
	} {
		endpoint := "https://example.com"
		if provider == v1beta2.StorageABS {
			endpoint += "/account"
		}
		readers[string(provider)] = func() (objstore.Getter, error) {
			return connect.Open(t.Context(), connect.Access{Location: storage.Location{Provider: provider, Bucket: "b", Key: "k", Endpoint: endpoint, ForcePathStyle: true}, Data: secret})
		}
	}
	if len(readers) != len(storage.Providers())+1 {
		t.Errorf("%d readers are tried, and there are %d providers", len(readers), len(storage.Providers()))
	}
	for name, open := range readers {
		t.Run(name, func(t *testing.T) {
			tunnels, requests := h.tunnels.Load(), h.requests.Load()
			store, err := open()
			if err != nil {
				t.Fatal(err)
			}
			_, err = store.Get(t.Context(), "k")
			if err == nil || strings.Contains(err.Error(), "x509") || strings.Contains(err.Error(), "certificate") {
				t.Errorf("the store does not answer that the object is missing: %v", err)
			}
			if h.tunnels.Load() == tunnels || h.requests.Load() == requests {
				t.Errorf("%d tunnels and %d requests: %v", h.tunnels.Load()-tunnels, h.requests.Load()-requests, err)
			}
		})
	}
}

// A Secret with ca.crt trusts that CA only, so that nobody else can read or change the backups, also not a proxy that the administrator trusts.
func TestASecretWithACAIsNotWidenedByTheSettings(t *testing.T) {
	h := newHouse(t)
	if err := apply(t, reach.Settings{reach.EnvHTTPSProxy: h.proxy, reach.EnvCACertificates: h.ca}); err != nil {
		t.Fatal(err)
	}
	other, err := pki.NewCA("another", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	store, err := connect.Open(t.Context(), connect.Access{
		Location: storage.Location{Provider: v1beta2.StorageS3, Bucket: "b", Key: "k", Endpoint: "https://example.com", ForcePathStyle: true},
		Data:     map[string][]byte{"access-key-id": []byte("key"), "secret-access-key": []byte("secret"), "ca.crt": other.Cert}, Patience: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Get(t.Context(), "k"); err == nil || h.requests.Load() != 0 {
		t.Errorf("the store was sent %d requests, error %v", h.requests.Load(), err)
	}
}

// A proxy that asks the metadata server of its own node would give the operators the identity of the proxy, or none.
func TestTheIdentityOfThePodIsAskedForWithoutTheProxy(t *testing.T) {
	if err := apply(t, reach.Settings{reach.EnvHTTPSProxy: "http://proxy:3128", reach.EnvHTTPProxy: "http://proxy:3128", reach.EnvNoProxy: ".svc"}); err != nil {
		t.Fatal(err)
	}
	for target, direct := range map[string]bool{
		"http://169.254.169.254/latest/meta-data": true, "http://169.254.170.23/v1/credentials": true, "http://[fd00:ec2::254]/": true,
		"http://metadata.google.internal/": true, "https://minio.store.svc:9000": true, "http://example.com": false, "https://example.com": false,
	} {
		to, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		for name, transport := range map[string]*http.Transport{"stores": stall.Connections(), "libraries": http.DefaultTransport.(*http.Transport)} {
			if by, err := transport.Proxy(&http.Request{URL: to}); err != nil || (by == nil) != direct {
				t.Errorf("%s reach %s by %v, error %v", name, target, by, err)
			}
		}
	}
}

func TestTheSettingsForStoresAreChecked(t *testing.T) {
	for name, s := range map[string]reach.Settings{
		reach.EnvHTTPSProxy:     {reach.EnvHTTPSProxy: "http://user:password@proxy:3128"},
		reach.EnvHTTPProxy:      {reach.EnvHTTPProxy: "proxy"},
		reach.EnvCACertificates: {reach.EnvCACertificates: "none"},
	} {
		err := apply(t, s)
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "password@") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := apply(t, reach.Settings{}); err != nil {
		t.Error(err)
	}
	if got, err := stall.Connections().Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: "example.com"}}); got != nil || err != nil {
		t.Errorf("without settings, the proxy is %v, error %v", got, err)
	}
}

// Without the values of the chart, HTTP_PROXY counts. The credentials of the node's metadata server went in plain text through that proxy, or the proxy
// answered with its own.
func TestTheIdentityOfThePodIsAskedForWithoutTheProxyOfTheEnvironment(t *testing.T) {
	for name, value := range map[string]string{"HTTP_PROXY": "http://proxy:3128", "HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".svc"} {
		t.Setenv(name, value)
	}
	if err := apply(t, reach.Settings{}); err != nil {
		t.Fatal(err)
	}
	for target, direct := range map[string]bool{
		"http://169.254.169.254/latest/meta-data": true, "http://[fd00:ec2::254]/": true, "http://metadata.google.internal/": true,
		"https://minio.store.svc:9000": true, "http://example.com": false, "https://example.com": false,
	} {
		to, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		if by, err := stall.Connections().Proxy(&http.Request{URL: to}); err != nil || (by == nil) != direct {
			t.Errorf("stores reach %s by %v, error %v", target, by, err)
		}
	}
}
