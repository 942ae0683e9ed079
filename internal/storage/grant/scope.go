package grant

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

var (
	// ErrOwnIdentity is in the chain if a namespace may not use the operator's own identity for a path.
	ErrOwnIdentity = errors.New("the operator's own identity is not allowed here")
	// ErrPath is in the chain if a namespace may not use a path, even with a Secret.
	ErrPath = errors.New("the path is not allowed here")
	// errEndpoint is in the chain of one of these if the endpoint is the cause.
	errEndpoint = errors.New("the endpoint is not allowed here")
)

// Scope is what one namespace may use. The zero Scope may use no identity but that in a Secret.
type Scope struct {
	List      List
	Namespace string
}

// Of returns what a namespace may use.
func (l List) Of(namespace string) Scope { return Scope{l, namespace} }

// Process is the Scope of a process whose identity is that of a namespace, for example the Pod of a member.
func Process() Scope { return Everything().Of("process") }

// Check returns an error if the namespace may not use an object, or the prefix of a listing. own is true for the operator's own identity. With a
// Secret, only buckets that the list names are limited.
func (s Scope) Check(own bool, bucket, key string) error {
	switch {
	case s.List.May(s.Namespace, bucket, key):
		return nil
	case own:
		return &refusal{fmt.Sprintf("namespace %s may not use the operator's own identity for %s/%s: %s", s.Namespace, bucket, key, s.allowed()), ErrOwnIdentity}
	case s.List.Names(bucket):
		return &refusal{fmt.Sprintf("namespace %s may not use %s/%s, because the administrator has limited the paths in this bucket: %s", s.Namespace, bucket, key, s.allowed()), ErrPath}
	}
	return nil
}

// Limits reports whether Check depends on the path, for the operator's own identity or for that of a Secret in the bucket.
func (s Scope) Limits(own bool, bucket string) bool {
	everywhere := slices.ContainsFunc(s.List, func(g Grant) bool { return g.PathPrefix == All && g.serves(s.Namespace) })
	return !everywhere && (own || s.List.Names(bucket))
}

// RefuseEndpoint returns the error for an endpoint that could lead to an object that Check does not allow. write says what to write instead.
func (s Scope) RefuseEndpoint(own bool, write string) error {
	kind := ErrPath
	if own {
		kind = ErrOwnIdentity
	}
	return &refusal{fmt.Sprintf("the endpoint could lead namespace %s to other objects than the path says: %s (%s)", s.Namespace, write, s.allowed()), errors.Join(kind, errEndpoint)}
}

// allowed says what the namespace may use. It names no prefix of others.
func (s Scope) allowed() string {
	prefixes := s.List.Prefixes(s.Namespace)
	if len(prefixes) == 0 {
		return "no entry of ownIdentity in the values of the chart is for this namespace"
	}
	return "ownIdentity in the values of the chart allows only " + strings.Join(prefixes, ", ")
}

// refusal is an error of Check. As an answer of a store, it would be fs.ErrPermission.
type refusal struct {
	message string
	kind    error
}

func (r *refusal) Error() string   { return r.message }
func (r *refusal) Unwrap() []error { return []error{r.kind, fs.ErrPermission} }

// Explain returns the reason of an error of Check, and what to do about it. value is the value of the chart with the list. The reason is empty
// if err is another error.
func Explain(err error, value string) (reason, advice string) {
	switch {
	case errors.Is(err, errEndpoint) && errors.Is(err, ErrOwnIdentity):
		return v1beta2.ReasonOwnIdentityNotAllowed, "The administrator limits the paths at which namespaces may use the operator's own identity (" + value + " in the values of the chart)."
	case errors.Is(err, errEndpoint):
		return v1beta2.ReasonPathNotAllowed, "The administrator limits the paths in this bucket (" + value + " in the values of the chart)."
	case errors.Is(err, ErrOwnIdentity):
		return v1beta2.ReasonOwnIdentityNotAllowed, "Name a Secret with credentials, or write a path that is allowed. Or ask the administrator for an entry with the namespace and the prefix of the path in " +
			value + ", in the values of the chart."
	case errors.Is(err, ErrPath):
		return v1beta2.ReasonPathNotAllowed, "Write a path that is allowed, or use another bucket. Or ask the administrator for an entry with the namespace and the prefix of the path in " +
			value + ", in the values of the chart."
	}
	return "", ""
}

// Refused reports whether a reason is one of Explain. Only a person can remove the cause.
func Refused(reason string) bool {
	return reason == v1beta2.ReasonOwnIdentityNotAllowed || reason == v1beta2.ReasonPathNotAllowed
}
