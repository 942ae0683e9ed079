package s3

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// amazonHost are the host names of S3. Other services of Amazon have names that a user may get, for example of a gateway, a load balancer or
// a machine, and what answers there is the user's.
var amazonHost = func() *regexp.Regexp {
	const (
		bucket  = `([a-z0-9._-]+\.)?`
		region  = `[a-z]{2,}(-[a-z]+)+-[0-9]+`
		service = `s3(-fips|-accelerate|-accesspoint|-accesspoint-fips|-external-1)?(\.dualstack)?(\.` + region + `)?`
		older   = `s3-` + region
		express = `s3express(-fips)?-[a-z0-9]+-az[0-9]+\.` + region
		private = `s3\.` + region + `\.vpce`
	)
	return regexp.MustCompile(`^` + bucket + `(` + strings.Join([]string{service, older, express, private}, "|") + `)\.amazonaws\.com(\.cn)?$`)
}()

// ofVPC is what precedes the service in the name of an endpoint of a VPC, which names no bucket.
var ofVPC = regexp.MustCompile(`^(bucket\.)?vpce-[a-z0-9-]+\.$`)

// Amazons reports whether a name of a host is one of S3, and whether it names a bucket or an access point, too.
func Amazons(host string) (amazons, bucket bool) {
	parts := amazonHost.FindStringSubmatch(strings.TrimRight(strings.ToLower(host), "."))
	if parts == nil {
		return false, false
	}
	return true, parts[1] != "" && !ofVPC.MatchString(parts[1])
}

// amazons reports whether a URL is one of S3's own servers, which only Amazon can answer for. Without a URL, it is.
func amazons(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return endpoint == "" || err == nil && u.Scheme == "https" && amazonHost.MatchString(strings.ToLower(u.Hostname()))
}

// allowed refuses to use keys for an endpoint that their owner did not name. The key of SSE-C is a part of each request, so a user who may create an
// object that names the Secret could read it otherwise. A signature does not reveal its key. But a compatible store accepts each name of a host, so a
// server of that user could send the request on to the real store, and read the object.
func (c Config) allowed(endpoint string) error {
	switch {
	case amazons(endpoint), objstore.Names(c.KeysFor, endpoint):
		return nil
	case len(c.CustomerKey) > 0:
		return fmt.Errorf("the operator sends the key of SSE-C to Amazon S3 only. To allow %s, write the key endpoint with this URL into the Secret", endpoint)
	case c.AccessKeyID != "" && (c.KeysFor != "" || c.OnlyNamed):
		return fmt.Errorf("the operator signs with the keys of the Secret only for Amazon S3 and for the URLs in its key endpoint. To allow %s, write it there", endpoint)
	}
	return nil
}
