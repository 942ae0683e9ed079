package s3

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
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

// amazons reports whether a URL is one of S3's own servers, which only Amazon can answer for. Without a URL, it is.
func amazons(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return endpoint == "" || err == nil && u.Scheme == "https" && amazonHost.MatchString(strings.ToLower(u.Hostname()))
}

// allowed refuses to send the key of SSE-C to an endpoint that its owner did not name. It is a part of each request, and a user who may create
// an object that names the Secret could read it otherwise. All other keys of S3 only sign.
func (c Config) allowed(endpoint string) error {
	if len(c.CustomerKey) == 0 || amazons(endpoint) || same(endpoint, c.CustomerKeyFor) {
		return nil
	}
	return fmt.Errorf("the operator sends the key of SSE-C to Amazon S3 only. To allow %s, write the key endpoint with this URL into the Secret", endpoint)
}

func same(a, b string) bool {
	return strings.TrimRight(a, "/") == strings.TrimRight(strings.TrimSpace(b), "/")
}
