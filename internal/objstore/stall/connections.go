package stall

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"sync/atomic"
)

// MaxHeaders limits the headers of an answer of a store, in bytes. Those of the known stores have some KiB, with the metadata of an object. Go
// allows 10 MiB, which take 16 times as much when they are decoded.
const MaxHeaders = 64 << 10

// configured is how all connections to stores are made.
type configured struct {
	proxy   func(*http.Request) (*url.URL, error)
	trusted *x509.CertPool
}

var settings atomic.Pointer[configured]

// Configure sets the proxy of all connections to stores, and the CAs that they trust. nil leaves each as Go has it. Call it before the first
// connection. Clients of libraries that ask for tokens of a cloud take Go's default transport, so it gets the same.
func Configure(proxy func(*http.Request) (*url.URL, error), trusted *x509.CertPool) {
	settings.Store(&configured{proxy, trusted})
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		Prepare(standard)
	}
}

// Connections returns a transport like that of Go, in which the headers of answers have a bound.
func Connections() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // nothing replaces it
	transport.MaxResponseHeaderBytes = MaxHeaders
	Prepare(transport)
	return transport
}

// Prepare has a transport follow Configure.
func Prepare(transport *http.Transport) {
	s := settings.Load()
	if s == nil {
		return
	}
	if s.proxy != nil {
		transport.Proxy = s.proxy
	}
	if s.trusted == nil {
		return
	}
	if transport.TLSClientConfig == nil {
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	transport.TLSClientConfig.RootCAs = s.trusted.Clone() // a library may add to it
}
