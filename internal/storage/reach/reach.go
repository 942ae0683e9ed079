// Package reach is how this suite reaches object stores: through which proxy, and which CAs it trusts beside those of the system. The administrator
// sets it once, by values of the chart. The operators and the seeds of restores read it from the same variables: otherwise backups and their proofs
// would succeed, and the seed would fail on the day of the disaster.
package reach

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"golang.org/x/net/http/httpproxy"

	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

const (
	// EnvHTTPSProxy is the URL of the proxy for https://. If it and the next two are empty, HTTPS_PROXY, HTTP_PROXY and NO_PROXY count.
	EnvHTTPSProxy = "STORE_HTTPS_PROXY"
	// EnvHTTPProxy is the URL of the proxy for http://.
	EnvHTTPProxy = "STORE_HTTP_PROXY"
	// EnvNoProxy lists what is reached without a proxy, as NO_PROXY does for other programs.
	EnvNoProxy = "STORE_NO_PROXY"
	// EnvCACertificates are CA certificates in PEM that are trusted beside those of the system. A Secret with ca.crt trusts that one only.
	EnvCACertificates = "STORE_CA_CERTIFICATES"
)

// Variables are all of them.
var Variables = []string{EnvHTTPSProxy, EnvHTTPProxy, EnvNoProxy, EnvCACertificates}

// Settings are the values of the variables that are set.
type Settings map[string]string

// FromEnvironment returns the settings of this process.
func FromEnvironment() Settings {
	s := Settings{}
	for _, name := range Variables {
		if value := os.Getenv(name); value != "" {
			s[name] = value
		}
	}
	return s
}

// ErrSettings means that a setting cannot be used. It names the variable.
var ErrSettings = errors.New("the settings for object stores cannot be used")

// Apply has all connections to stores of this process follow the settings. Call it before the first one.
func (s Settings) Apply() error {
	if err := s.checkProxies(); err != nil {
		return err
	}
	trusted, err := s.trusted()
	if err != nil {
		return err
	}
	stall.Configure(s.proxy(), trusted)
	return nil
}

// checkProxies refuses a proxy with a password: the Pods of seeds show it in the namespaces of tenants.
func (s Settings) checkProxies() error {
	for _, name := range []string{EnvHTTPSProxy, EnvHTTPProxy} {
		if s[name] == "" {
			continue
		}
		proxy, err := url.Parse(s[name])
		switch {
		case err != nil || proxy.Host == "":
			return fmt.Errorf("%w: %s is no URL: write http://<host>:<port>", ErrSettings, name)
		case proxy.User != nil:
			return fmt.Errorf("%w: %s has a user or a password, which all who read the Pod of a restore would see: use a proxy that needs none", ErrSettings, name)
		}
	}
	return nil
}

// local are the servers of the node that hand out the identity of a Pod. A proxy would ask those of its own node.
const local = "169.254.0.0/16,fe80::/10,fd00:ec2::/32,metadata.google.internal"

// proxy returns the function for http.Transport.
func (s Settings) proxy() func(*http.Request) (*url.URL, error) {
	by := httpproxy.Config{HTTPSProxy: s[EnvHTTPSProxy], HTTPProxy: s[EnvHTTPProxy], NoProxy: s[EnvNoProxy]}
	if s[EnvHTTPSProxy]+s[EnvHTTPProxy]+s[EnvNoProxy] == "" {
		by = *httpproxy.FromEnvironment()
	}
	by.NoProxy += "," + local
	choose := by.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
}

// trusted returns the CAs of the system and those of the setting, and nil if there is no setting.
func (s Settings) trusted() (*x509.CertPool, error) {
	if s[EnvCACertificates] == "" {
		return nil, nil //nolint:nilnil // those of the system
	}
	bundle := pki.ParseBundle([]byte(s[EnvCACertificates]))
	if len(bundle) == 0 {
		return nil, fmt.Errorf("%w: %s: it contains no PEM certificate", ErrSettings, EnvCACertificates)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(bundle.PEM())
	return pool, nil
}
