package gcs

import (
	"context"
	"encoding/json"
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
		text: fmt.Sprintf("%s %q in GCS bucket %s at %s: %s", op, key, s.bucket, s.endpoint, s.brief(err)),
		err:  err,
	}
}

func (s *Store) kind(ctx context.Context, err error) error {
	if errors.Is(err, storage.ErrBucketNotExist) {
		return objstore.ErrNoBucket
	}
	if kind := objstore.KindOfAnswer(err); kind != nil {
		return kind
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
	}
	return objstore.KindOfStatus(code)
}

// brief returns the HTTP status and a code. The library's text contains the whole answer of the store, or of the server that gives tokens.
func (s *Store) brief(err error) string {
	var api *googleapi.Error
	var token *auth.Error
	var own objstore.OwnWords
	switch {
	case errors.As(err, &own):
		return own.Error()
	case errors.As(err, &token):
		return "get a token: " + tokenAnswer(token)
	case errors.As(err, &api) && api.Message != "" && googles(s.endpoint):
		return fmt.Sprintf("%d: %s", api.Code, api.Message)
	case errors.As(err, &api):
		return known.Answer(api.Code, reasonOf(api))
	case errors.Is(err, storage.ErrBucketNotExist):
		return storage.ErrBucketNotExist.Error()
	case errors.Is(err, storage.ErrObjectNotExist):
		return storage.ErrObjectNotExist.Error()
	}
	return objstore.Cause(err)
}

// tokenAnswer has the status and Google's code.
func tokenAnswer(err *auth.Error) string {
	var answer struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(err.Body, &answer)
	if err.Response == nil {
		return "no answer"
	}
	return known.Answer(err.Response.StatusCode, answer.Error)
}

func reasonOf(err *googleapi.Error) string {
	if len(err.Errors) == 0 {
		return ""
	}
	return err.Errors[0].Reason
}

// opError has the text of the operation and unwraps to err.
type opError struct {
	text string
	err  error
}

func (e *opError) Error() string { return e.text }
func (e *opError) Unwrap() error { return e.err }
