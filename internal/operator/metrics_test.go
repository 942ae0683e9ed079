package operator

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// reviews answers the two reviews that the filter asks for: the token "reader" may get /metrics, and "stranger" may not.
func reviews(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var answer any
	if strings.HasSuffix(r.URL.Path, "tokenreviews") {
		var review authenticationv1.TokenReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		review.Status.Authenticated = review.Spec.Token == "reader" || review.Spec.Token == "stranger"
		review.Status.User.Username = review.Spec.Token
		answer = review
	} else {
		var review authorizationv1.SubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		review.Status.Allowed = review.Spec.User == "reader" && review.Spec.NonResourceAttributes.Path == "/metrics"
		answer = review
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(answer)
}

func TestMetricsAreServedOverTLSToThoseWhoMayReadThem(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(reviews))
	defer api.Close()
	for _, test := range []struct {
		secure bool
		token  string
		want   int
	}{
		{true, "reader", http.StatusOK}, {true, "stranger", http.StatusForbidden},
		{true, "", http.StatusUnauthorized}, {false, "", http.StatusOK},
		{true, "forged", http.StatusInternalServerError}, // controller-runtime's filter answers so
	} {
		t.Run(fmt.Sprintf("secure %v, token %q", test.secure, test.token), func(t *testing.T) {
			if got := status(t, api.URL, test.secure, test.token); got != test.want {
				t.Errorf("status %d, want %d", got, test.want)
			}
		})
	}
}

func TestTheMetricsEndpointUsesTheCertificateOfTheUser(t *testing.T) {
	api := httptest.NewTLSServer(http.HandlerFunc(reviews))
	defer api.Close()
	pair := api.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "tls.key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	answer := answerOf(t, api.URL, Options{MetricsSecure: true, MetricsCertDir: dir}, "")
	defer func() { _ = answer.Body.Close() }()
	if served := answer.TLS.PeerCertificates[0]; !served.Equal(api.Certificate()) {
		t.Errorf("the endpoint has the certificate of %s", served.Subject)
	}
}

// A Secret that is missing or wrong must not stop an operator: it could not repair a cluster any more.
func TestAWrongCertificateOfTheMetricsEndpointStopsNoOperator(t *testing.T) {
	api := httptest.NewTLSServer(http.HandlerFunc(reviews))
	defer api.Close()
	wrong := t.TempDir()
	for _, file := range []string{"tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(wrong, file), []byte("no certificate"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{wrong, t.TempDir(), filepath.Join(wrong, "missing")} {
		answer := answerOf(t, api.URL, Options{MetricsSecure: true, MetricsCertDir: dir}, "")
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("with %s, the endpoint answers %s", dir, answer.Status)
		}
	}
}

// status starts a metrics endpoint and returns what it answers.
func status(t *testing.T, api string, secure bool, token string) int {
	t.Helper()
	answer := answerOf(t, api, Options{MetricsSecure: secure}, token)
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

func answerOf(t *testing.T, api string, options Options, token string) *http.Response {
	t.Helper()
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	options.MetricsAddress = free.Addr().String()
	_ = free.Close()
	// The content type makes the answers of the fake API server readable.
	config := &rest.Config{Host: api, ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}}
	server, err := metricsserver.NewServer(options.metrics(), config, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Start(t.Context()) }()
	scheme := map[bool]string{true: "https", false: "http"}[options.MetricsSecure]
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+options.MetricsAddress+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // self-signed
	for {
		answer, err := client.Do(request)
		if err == nil {
			return answer
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}
