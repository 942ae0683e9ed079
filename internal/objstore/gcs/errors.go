package gcs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// wrap adds the operation, key, bucket and endpoint to an error, and marks it with its kind.
func (s *Store) wrap(ctx context.Context, op, key string, err error) error {
	if err == nil {
		return nil
	}
	if kind := s.kind(ctx, err); kind != nil {
		err = objstore.Mark(err, kind)
	}
	return &opError{
		text: fmt.Sprintf("%s %q in GCS bucket %s at %s: %s", op, key, s.bucket, s.endpoint, brief(err)),
		err:  err,
	}
}

func (s *Store) kind(ctx context.Context, err error) error {
	if errors.Is(err, storage.ErrBucketNotExist) {
		return objstore.ErrNoBucket
	}
	code := 0
	var api *googleapi.Error
	var token *auth.Error
	switch {
	case errors.As(err, &api):
		code = api.Code
	case errors.As(err, &token) && token.Response != nil:
		// The identity provider rejected the credentials.
		if token.Response.StatusCode < http.StatusInternalServerError {
			return fs.ErrPermission
		}
	}
	switch {
	case errors.Is(err, storage.ErrObjectNotExist) || code == http.StatusNotFound:
		if s.bucketMissing(ctx) {
			return objstore.ErrNoBucket
		}
		return fs.ErrNotExist
	case code == http.StatusPreconditionFailed:
		return fs.ErrExist
	case code == http.StatusForbidden || code == http.StatusUnauthorized:
		return fs.ErrPermission
	}
	return nil
}

// brief returns the server's message if there is one. The library's text may contain the whole answer.
func brief(err error) string {
	var api *googleapi.Error
	if errors.As(err, &api) && api.Message != "" {
		return fmt.Sprintf("%d: %s", api.Code, api.Message)
	}
	return err.Error()
}

// opError has the text of the operation and unwraps to err.
type opError struct {
	text string
	err  error
}

func (e *opError) Error() string { return e.text }
func (e *opError) Unwrap() error { return e.err }
