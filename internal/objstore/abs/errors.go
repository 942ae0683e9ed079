package abs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// wrap names what was done, and gives the server's answer a kind.
func (s *Store) wrap(op, key string, err error) error {
	if err == nil {
		return nil
	}
	advice, kind := classify(err)
	if kind != nil {
		err = objstore.Mark(err, kind)
	}
	return &opError{
		text: fmt.Sprintf("%s %q in ABS container %s at %s: %s%s", op, key, s.container, s.endpoint, brief(err), advice),
		err:  err,
	}
}

func classify(err error) (advice string, kind error) {
	var unknown *identityError
	if errors.As(err, &unknown) {
		return " (name a Secret with storage-account and storage-key, or give the operator's service account an identity)", unknown.kind()
	}
	if kind := objstore.KindOfAnswer(err); kind != nil {
		return "", kind
	}
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) {
		return "", nil
	}
	switch bloberror.Code(answer.ErrorCode) {
	case bloberror.ContainerNotFound:
		return "", objstore.ErrNoBucket
	case bloberror.BlobNotFound:
		return "", fs.ErrNotExist
	case bloberror.BlobAlreadyExists, bloberror.ConditionNotMet:
		return "", fs.ErrExist
	case bloberror.BlobArchived, bloberror.BlobBeingRehydrated:
		return " (it is in the archive tier: move it to another tier to read it)", fs.ErrPermission
	case bloberror.BlobImmutableDueToPolicy:
		return " (a policy of the container keeps it)", fs.ErrPermission
	}
	return "", objstore.KindOfStatus(answer.StatusCode)
}

// brief is the server's status and code: the SDK's own text repeats the whole answer.
func brief(err error) string {
	var own objstore.OwnWords
	var unknown *identityError
	var answer *azcore.ResponseError
	switch {
	case errors.As(err, &own):
		return own.Error()
	case errors.As(err, &unknown):
		return unknown.Error()
	case errors.As(err, &answer):
		return known.Answer(answer.StatusCode, answer.ErrorCode)
	}
	return objstore.Cause(err)
}

// opError shows text and unwraps to err.
type opError struct {
	text string
	err  error
}

func (e *opError) Error() string { return e.text }
func (e *opError) Unwrap() error { return e.err }

func (i identified) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := i.TokenCredential.GetToken(ctx, options)
	if err != nil {
		err = &identityError{err}
	}
	return token, err
}

type identityError struct{ err error }

// Error has the status of an identity provider that refuses, and not its whole answer.
func (e *identityError) Error() string {
	var refused *azidentity.AuthenticationFailedError
	if errors.As(e.err, &refused) && refused.RawResponse != nil {
		return fmt.Sprintf("find credentials: the identity provider answers %d %s", refused.RawResponse.StatusCode, http.StatusText(refused.RawResponse.StatusCode))
	}
	return "find credentials: " + e.err.Error()
}

func (e *identityError) Unwrap() error { return e.err }

// NonRetriable tells the SDK that the identity has been asked often enough.
func (e *identityError) NonRetriable() {}

// kind is fs.ErrPermission, unless the identity provider itself is unwell.
func (e *identityError) kind() error {
	var refused *azidentity.AuthenticationFailedError
	if errors.As(e.err, &refused) && refused.RawResponse != nil && refused.RawResponse.StatusCode >= http.StatusInternalServerError {
		return nil
	}
	return fs.ErrPermission
}
