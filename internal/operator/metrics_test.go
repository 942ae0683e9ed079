package operator

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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

// status starts a metrics endpoint and returns what it answers.
func status(t *testing.T, api string, secure bool, token string) int {
	t.Helper()
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	options := Options{MetricsAddress: address, MetricsSecure: secure}
	// The content type makes the answers of the fake API server readable.
	config := &rest.Config{Host: api, ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}}
	server, err := metricsserver.NewServer(options.metrics(), config, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Start(t.Context()) }()
	scheme := map[bool]string{true: "https", false: "http"}[secure]
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+address+"/metrics", nil)
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
			defer func() { _ = answer.Body.Close() }()
			_, _ = io.Copy(io.Discard, answer.Body)
			return answer.StatusCode
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}
