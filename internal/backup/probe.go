package backup

import (
	"context"
	"sync"
	"time"
)

// askTimeout limits one request to one member.
const askTimeout = 3 * time.Second

// hashTimeout limits how long a member may hash its database.
const hashTimeout = 2 * time.Minute

// probe asks all members at the same time. A member that does not answer is part of the result.
func probe(ctx context.Context, urls []string, by access) []answer {
	answers := make([]answer, len(urls))
	var asked sync.WaitGroup
	for i, url := range urls {
		asked.Go(func() { answers[i] = ask(ctx, url, by) })
	}
	asked.Wait()
	return answers
}

// ask reads the status again after the linearizable read. Its revision is then at least the cluster's revision at the
// start of the read.
func ask(ctx context.Context, url string, by access) answer {
	a := answer{URL: url}
	client, err := by.open(url)
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
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return call(ctx)
}
