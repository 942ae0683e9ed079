package s3

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestOnlyTheServersOfS3AreAmazons(t *testing.T) {
	for url, want := range map[string]bool{
		"":                                      true,
		"https://s3.amazonaws.com":              true,
		"https://s3.eu-central-1.amazonaws.com": true,
		"https://S3.EU-Central-1.amazonaws.com:443/":                           true,
		"https://b.s3.us-gov-west-1.amazonaws.com":                             true,
		"https://s3-eu-west-1.amazonaws.com":                                   true,
		"https://s3.dualstack.us-east-2.amazonaws.com":                         true,
		"https://s3-fips.us-east-1.amazonaws.com":                              true,
		"https://s3-fips.dualstack.us-east-1.amazonaws.com":                    true,
		"https://my.bucket.s3-accelerate.amazonaws.com":                        true,
		"https://s3.cn-north-1.amazonaws.com.cn":                               true,
		"https://a-123456789012.s3-accesspoint.us-west-2.amazonaws.com":        true,
		"https://bucket.vpce-0a1b-2c.s3.us-east-1.vpce.amazonaws.com":          true,
		"https://b--use1-az4--x-s3.s3express-use1-az4.us-east-1.amazonaws.com": true,
		"http://s3.amazonaws.com":                                              false,
		"https://abc123.execute-api.us-east-1.amazonaws.com":                   false,
		"https://ec2-1-2-3-4.us-east-2.compute.amazonaws.com":                  false,
		"https://s3-1234567890.us-east-1.elb.amazonaws.com":                    false,
		"https://abc.lambda-url.us-east-1.on.aws":                              false,
		"https://site.s3-website.us-east-1.amazonaws.com":                      false,
		"https://a-1.s3-object-lambda.us-east-1.amazonaws.com":                 false,
		"https://vpce-1.vpce-svc-1.us-east-1.vpce.amazonaws.com":               false,
		"https://s3.amazonaws.com.example.com":                                 false,
		"https://s3.example.com":                                               false,
		"https://example.com/s3.amazonaws.com":                                 false,
		"https://amazonaws.com":                                                false,
	} {
		if got := amazons(url); got != want {
			t.Errorf("%s is one of Amazon's servers: %v", url, got)
		}
	}
}

// A user who may name a Secret, and may not read it, got the key of SSE-C at a server of their own.
func TestTheCustomerKeyIsSentOnlyWhereTheSecretAllowsIt(t *testing.T) {
	key := bytes.Repeat([]byte("k"), customerKeySize)
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if strings.Contains(strings.ToLower(name), "customer-key") {
				sent.Add(1)
			}
		}
	}))
	defer server.Close()
	for name, test := range map[string]struct {
		config  Config
		refused bool
	}{
		"without the key endpoint":          {Config{Endpoint: server.URL, CustomerKey: key}, true},
		"for another endpoint":              {Config{Endpoint: server.URL, CustomerKey: key, KeysFor: "https://s3.example.com"}, true},
		"for a server that begins like it":  {Config{Endpoint: server.URL + "0", CustomerKey: key, KeysFor: server.URL}, true},
		"for a gateway of a user at Amazon": {Config{Endpoint: "https://abc123.execute-api.us-east-1.amazonaws.com", CustomerKey: key}, true},
		"for this endpoint":                 {Config{Endpoint: server.URL + "/", CustomerKey: key, KeysFor: server.URL + "\n"}, false},
		"for Amazon":                        {Config{CustomerKey: key}, false},
		"for Amazon's server of a region":   {Config{Endpoint: "https://s3.eu-west-1.amazonaws.com", CustomerKey: key}, false},
		"without the key of SSE-C":          {Config{Endpoint: server.URL}, false},
	} {
		test.config.Bucket, test.config.AccessKeyID, test.config.SecretAccessKey, test.config.ForcePathStyle = "b", "id", "secret", true
		sent.Store(0)
		store, err := Open(t.Context(), test.config)
		if (err != nil) != test.refused || err != nil && !strings.Contains(err.Error(), "write the key endpoint") {
			t.Errorf("%s: error %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), string(key)) {
			t.Errorf("%s: the error shows the key", name)
		}
		if err != nil || !strings.HasPrefix(test.config.Endpoint, server.URL) {
			continue
		}
		if err := store.Put(t.Context(), "k", strings.NewReader("x")); err != nil || (sent.Load() > 0) != (len(test.config.CustomerKey) > 0) {
			t.Errorf("%s: the key was sent %d times, error %v", name, sent.Load(), err)
		}
	}
}

// The endpoint may be in the environment, too.
func TestTheCustomerKeyIsNotSentToAnEndpointOfTheEnvironment(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "https://s3.example.com")
	if _, err := Open(t.Context(), Config{Bucket: "b", AccessKeyID: "id", SecretAccessKey: "secret", CustomerKey: bytes.Repeat([]byte("k"), customerKeySize)}); err == nil {
		t.Error("no error")
	}
}
