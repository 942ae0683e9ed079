package objstore

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// These kinds of errors are about what answers at the endpoint. Each is fixed in another place, and only ErrUnavailable passes by itself.
var (
	// ErrUnavailable: the store, or a proxy before it, answers that it cannot serve the request now (408, 429, 500, 502, 503, 504).
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrTooLarge: the store, or a proxy before it, limits the size of a request (413).
	ErrTooLarge = errors.New("the request is too large")
	// ErrNotImplemented: the store does not implement the request (501). For a Put this is the condition that the key is new.
	ErrNotImplemented = errors.New("the store does not implement the request")
	// ErrRegion: the bucket is in another region, or the region is not the one that the store signs with.
	ErrRegion = errors.New("the region is wrong")
	// ErrNoStore: something else than a store answers at the endpoint.
	ErrNoStore = errors.New("no object store answers")
)

// Kinds are all kinds of errors of a Store, except for those of package fs about one key. The operators have a reason and an advice for
// each of them.
func Kinds() []error {
	return []error{ErrNoBucket, fs.ErrPermission, ErrUnavailable, ErrTooLarge, ErrNotImplemented, ErrRegion, ErrNoStore, ErrListing}
}

// KindOfStatus is the kind of an HTTP status that a store answers with; nil if the status alone does not tell.
func KindOfStatus(status int) error {
	switch status {
	case http.StatusForbidden, http.StatusUnauthorized:
		return fs.ErrPermission
	case http.StatusPreconditionFailed:
		return fs.ErrExist
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return ErrNoStore
	case http.StatusRequestEntityTooLarge:
		return ErrTooLarge
	case http.StatusNotImplemented:
		return ErrNotImplemented
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return ErrUnavailable
	}
	return nil
}

// KindOfAnswer is the kind of an error about an answer that no store wrote; nil for all other errors.
func KindOfAnswer(err error) error {
	if page := (*AnswerError)(nil); errors.As(err, &page) {
		return page.Unwrap()
	}
	if errors.Is(err, ErrNoStore) {
		return ErrNoStore
	}
	return nil
}

// AnswerError is an answer that no store wrote: a proxy, a load balancer or a web server did.
type AnswerError struct {
	Status int
	// Words are those of wellKnown that are in the answer.
	Words []string
}

// OwnWords marks the text as one that repeats nothing.
func (e *AnswerError) OwnWords() {}

func (e *AnswerError) Error() string {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)))
	text := "the answer is HTTP " + status + " and a web page"
	if len(e.Words) > 0 {
		text += ` (with the words "` + strings.Join(e.Words, `", "`) + `")`
	}
	return text + ", so it is not from the store"
}

// Unwrap returns the kind.
func (e *AnswerError) Unwrap() error {
	if kind := KindOfStatus(e.Status); kind != nil {
		return kind
	}
	return ErrNoStore
}

// Temporary reports whether the same request may succeed soon.
func (e *AnswerError) Temporary() bool { return errors.Is(e, ErrUnavailable) }

// HeadOfAnswer is how many bytes of an answer are enough to recognise it.
const HeadOfAnswer = 4 << 10

// maxWords bounds how many words an error names.
const maxWords = 4

// wellKnown are the names of what often answers before a store, and the words of its pages that help a person. Only these words of a page
// are shown, because a page may be that of a server whose content a user must not read.
var wellKnown = []string{
	"nginx", "openresty", "HAProxy", "Apache", "Envoy", "Istio", "Traefik", "Varnish", "Squid", "Cloudflare", "CloudFront", "awselb", "Akamai",
	"Microsoft-Azure-Application-Gateway", "IIS", "Tomcat", "Jetty", "Caddy", "Kong", "BIG-IP", "FortiGate", "Zscaler", "Ceph", "MinIO Console",
	"No server is available to handle this request", "No server is available", "no healthy upstream", "upstream connect error",
	"default backend", "The plain HTTP request was sent to HTTPS port", "The requested URL was rejected", "Host not allowed",
	"Request Entity Too Large", "Payload Too Large", "Bad Gateway", "Gateway Time-out", "Service Unavailable", "Service Temporarily Unavailable",
	"Method Not Allowed", "Not Found", "Access Denied", "Forbidden", "Unauthorized", "blocked", "maintenance", "Sign in", "Log in", "Login",
}

// PageIn returns an AnswerError if an answer with an HTTP status of an error is a web page. head is its beginning.
func PageIn(status int, head []byte) *AnswerError {
	text := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(string(head), "\ufeff")))
	if status < http.StatusBadRequest || !strings.HasPrefix(text, "<html") && !strings.HasPrefix(text, "<!doctype html") {
		return nil
	}
	return &AnswerError{Status: status, Words: wordsOf(text)}
}

// wordsOf returns the well-known words in a page in lower case, the first ones in the page first.
func wordsOf(page string) []string {
	page = strings.Join(strings.Fields(tags.ReplaceAllString(unread.ReplaceAllString(page, " "), " ")), " ")
	at := map[string]int{}
	var words []string
	for _, word := range wellKnown {
		place := strings.Index(page, strings.ToLower(word))
		longer := func(other string) bool { return strings.Contains(strings.ToLower(other), strings.ToLower(word)) }
		if place >= 0 && !slices.ContainsFunc(words, longer) {
			at[word], words = place, append(words, word)
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(at[a], at[b]) })
	return words[:min(len(words), maxWords)]
}

var (
	unread = regexp.MustCompile(`(?is)<(script|style)\b.*?(</(script|style)>|$)|<!--.*?(-->|$)`)
	tags   = regexp.MustCompile(`(?s)<[^>]*(>|$)`)
)
