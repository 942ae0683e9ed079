// Package ask asks the members of a cluster how they are, chooses the best one to take a snapshot of, and streams its snapshot.
package ask

import (
	"cmp"
	"context"
	"crypto/tls"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// timeout limits one request to one member.
const timeout = 3 * time.Second

// Access is how an operator identifies itself to the members.
type Access struct {
	// TLS is nil without TLS.
	TLS *tls.Config
	// Login is the user for etcd's authentication, and nil without one. Problem says why there is none, although one is named.
	Login   *etcd.Login
	Problem string
	// Dial opens a client of one member. If it is nil, etcd.Open does.
	Dial func(endpoint etcd.Endpoint, tlsConfig *tls.Config) (*etcd.Client, error)
}

// Open returns a client of one member.
func (a Access) Open(url string) (*etcd.Client, error) {
	if a.Dial != nil {
		return a.Dial(etcd.Endpoint{URL: url, Login: a.Login}, a.TLS)
	}
	return etcd.Open(etcd.Endpoint{URL: url, Login: a.Login}, a.TLS)
}

// Answer is the answer of one endpoint.
type Answer struct {
	URL string
	// Err is why the member did not answer.
	Err    error
	Status etcd.Status
	// NotServing is why a linearizable read failed, for example because the member has no quorum.
	NotServing error
}

// Members asks all members at the same time. A member that does not answer is part of the result.
func Members(ctx context.Context, urls []string, by Access) []Answer {
	answers := make([]Answer, len(urls))
	var asked sync.WaitGroup
	for i, url := range urls {
		asked.Go(panics.Caught(func() { answers[i] = member(ctx, url, by) }, func(err error) { answers[i] = Answer{URL: url, Err: err} }))
	}
	asked.Wait()
	return answers
}

// member reads the status again after the linearizable read. Its revision is then at least the cluster's revision at the
// start of the read, and so that of every acknowledged write.
func member(ctx context.Context, url string, by Access) Answer {
	a := Answer{URL: url}
	client, err := by.Open(url)
	if err != nil {
		a.Err = err
		return a
	}
	defer client.Close()
	if a.Status, a.Err = within(ctx, client.Status); a.Err != nil {
		return a
	}
	_, a.NotServing = within(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, client.Serving(ctx) })
	if a.NotServing == nil {
		a.Status, a.Err = within(ctx, client.Status)
	}
	return a
}

func within[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return call(ctx)
}

// Best returns the member to take a snapshot of. There must be at least one, and all of them must be voters that serve. A member whose data
// etcd has found corrupt is the last choice. A follower is better than the leader, and a higher revision is better than a lower one.
func Best(voters []Answer) Answer {
	return slices.MinFunc(voters, func(a, b Answer) int {
		return cmp.Or(last(a.Status.Corrupt(), b.Status.Corrupt()), last(a.Status.Leader(), b.Status.Leader()),
			cmp.Compare(b.Status.Revision, a.Status.Revision), strings.Compare(a.URL, b.URL))
	})
}

// last compares two members of which one with a property comes last.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
