package etcd

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// pods is the client for all questions over plain HTTP to Pods of members, which run containers of the user. It follows no redirect: a
// container could lead the operator to a server that only the operator reaches. It uses no proxy, whatever the environment says, because
// members are asked at the addresses of their Pods. It keeps no connections: each of thousands of members is asked seldom, and a connection
// that waits costs memory.
var pods = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Get opens what the Pod of a member answers to a path at "host:port" over plain HTTP. Any status but 200 is an error, and so are more bytes
// than the limit.
func Get(ctx context.Context, address, path string, limit int64) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := pods.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("HTTP status %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	}
	return http.MaxBytesReader(nil, response.Body, limit), nil
}
