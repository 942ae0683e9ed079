package storage

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Spec is what a resource says about its storage.
type Spec struct {
	// Field names the storage type in messages, for example "backupStorageType".
	Field string
	Type  v1beta2.StorageType
	Block v1beta2.Storage
	// Path takes the place of the block's own path, unless it is empty.
	Path string
	// Folder: the path names a folder. Its key ends in a slash then, or is empty for
	// the whole bucket.
	Folder bool
	// NoKey is added to the message if the path names no object.
	NoKey string
}

// Problem is what is wrong with a Spec.
type Problem struct {
	// Reason is one of the API's; Message says what to write.
	Reason, Message string
}

// Location translates the spec. The problem is nil if there is none.
func (s Spec) Location() (Location, *Problem) {
	p, ok := providerOf(s.Type)
	if !ok {
		return Location{}, s.unsupported()
	}
	path, l, ok := p.read(s.Block)
	if !ok {
		return Location{}, invalid("%s %s needs the block %s. Write %s with path: \"<bucket>/<key>\".", s.Field, s.Type, p.block, p.block)
	}
	if s.Path != "" {
		path = s.Path
	}
	bucket, key, problem := s.split(path)
	if problem != nil {
		return Location{}, problem
	}
	if l.Endpoint != "" && !isURL(l.Endpoint) {
		return Location{}, invalid("%s.endpoint is not a URL of a store. Write https://host or https://host:port, without user and password.", p.block)
	}
	l.Provider, l.Bucket, l.Key = p.name, bucket, key
	return l, nil
}

func (s Spec) unsupported() *Problem {
	message := fmt.Sprintf("%s %q is not supported. Write %s.", s.Field, s.Type, OneOf())
	if instead, ok := refused[s.Type]; ok {
		message = s.Field + " " + instead
	}
	return &Problem{Reason: v1beta2.ReasonStorageNotSupported, Message: message}
}

// split takes a path literally: the bucket ends at the first slash, and the rest is the key.
func (s Spec) split(path string) (bucket, key string, problem *Problem) {
	bucket, key, _ = strings.Cut(path, "/")
	if s.Folder {
		if key = strings.TrimRight(key, "/"); key != "" {
			key += "/"
		}
	}
	switch {
	case bucket == "" && s.Folder:
		return "", "", invalid("path %q does not name a folder. Write \"<bucket>/<folder>\".", path)
	case bucket == "":
		return "", "", invalid("path %q does not name an object. Write \"<bucket>/<key>\", for example \"my-bucket/etcd/snapshot.db\".", path)
	case strings.ContainsFunc(bucket, notInBucket):
		return "", "", invalid("path %q does not begin with the name of a bucket. Write \"<bucket>/<key>\"; "+
			"the bucket's name may have letters, digits, hyphens, underscores and dots.", path)
	case !s.Folder && (key == "" || strings.HasSuffix(key, "/")):
		return "", "", invalid("path %q does not name an object. Write \"<bucket>/<key>\", for example \"my-bucket/etcd/snapshot.db\"%s.", path, s.NoKey)
	}
	return bucket, key, nil
}

// notInBucket reports whether no bucket's name may have r. Stores differ in what
// else they refuse, and report that themselves.
func notInBucket(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
}

// isURL reports whether an endpoint is scheme, host and port, and perhaps a path. url.Parse accepts "?" and "#" without anything behind them.
// Messages do not repeat an endpoint, because it may hold a password.
func isURL(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && u.User == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && !strings.ContainsAny(endpoint, "?#")
}

func invalid(format string, args ...any) *Problem {
	return &Problem{Reason: v1beta2.ReasonInvalidSpec, Message: fmt.Sprintf(format, args...)}
}
