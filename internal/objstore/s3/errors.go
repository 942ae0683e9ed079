package s3

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// wrap adds the operation, key, bucket and endpoint to an error, and marks it with its kind.
func (s *Store) wrap(op, key string, err error) error {
	if err == nil {
		return nil
	}
	advice, kind := classify(err)
	if kind != nil {
		err = objstore.Mark(err, kind)
	}
	return &opError{
		text: fmt.Sprintf("%s %q in S3 bucket %s at %s: %s%s", op, key, s.bucket, s.endpoint, s.brief(err), advice),
		err:  err,
	}
}

// otherRegion is the advice beside a kind ErrRegion. The text of a store often names a region and not what to do.
const otherRegion = " (check the region: the bucket may be in another region)"

// classify maps the error codes of S3 and compatible stores, and otherwise the HTTP status, to a kind and advice.
func classify(err error) (advice string, kind error) {
	if kind := objstore.KindOfAnswer(err); kind != nil {
		return "", kind
	}
	if advice, kind := ofRedirect(err); kind != nil {
		return advice, kind
	}
	var api smithy.APIError
	code := ""
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	switch code {
	case "NoSuchBucket":
		return "", objstore.ErrNoBucket
	case "NoSuchKey", "NotFound":
		return "", fs.ErrNotExist
	case "PreconditionFailed":
		return "", fs.ErrExist
	case "NotImplemented":
		return "", objstore.ErrNotImplemented
	case "EntityTooLarge", "MaxMessageLengthExceeded":
		return "", objstore.ErrTooLarge
	case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return otherRegion, objstore.ErrRegion
	case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "AccountProblem", "XAdminUserNotFound":
		return "", fs.ErrPermission
	}
	if kind := objstore.KindOfStatus(status(err)); kind != nil {
		return "", kind
	}
	if noCredentials(err) {
		return " (name a Secret with credentials, or give the operator's service account an identity)", fs.ErrPermission
	}
	return "", nil
}

// ofRedirect returns the kind of a redirect; nil if it is none, or if only the code tells. Without a body, the SDK takes the code from the status,
// so the code of a proxy's 308 is S3's.
func ofRedirect(err error) (advice string, kind error) {
	var response *awshttp.ResponseError
	if !errors.As(err, &response) || response.Response == nil ||
		response.HTTPStatusCode() < http.StatusMultipleChoices || response.HTTPStatusCode() >= http.StatusBadRequest {
		return "", nil
	}
	from, to := response.Response.Request, response.Response.Header.Get("Location")
	switch {
	case response.Response.Header.Get("X-Amz-Bucket-Region") != "":
		return otherRegion, objstore.ErrRegion
	case from != nil && from.URL.Scheme == "http" && strings.HasPrefix(to, "https://"):
		return " (write the endpoint with https://)", objstore.ErrNoStore
	case response.HTTPStatusCode() == http.StatusPermanentRedirect:
		return "", objstore.ErrNoStore
	}
	return "", nil
}

func status(err error) int {
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

// noCredentials reports whether the SDK found no credentials.
func noCredentials(err error) bool {
	var signing *signingError
	return errors.As(err, &signing)
}

// brief returns the HTTP status and the server's error code. Only Amazon's own servers are quoted. Errors of this package and of a body
// have no operation of the SDK.
func (s *Store) brief(err error) string {
	var own objstore.OwnWords
	var api smithy.APIError
	var signing *signingError
	var operation *smithy.OperationError
	switch {
	case errors.As(err, &own):
		return own.Error()
	case errors.As(err, &signing):
		return signing.Error()
	case errors.As(err, &api) && s.amazons:
		return strings.TrimSuffix(api.ErrorCode()+": "+strings.TrimSpace(api.ErrorMessage()), ": ")
	case errors.As(err, &api) && status(err) != 0:
		return known.Answer(status(err), api.ErrorCode())
	case errors.As(err, &operation):
		return objstore.Cause(err)
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

// signingError marks an error of the SDK's credentials chain.
type signingError struct{ err error }

func (e *signingError) Error() string { return "find credentials: " + e.err.Error() }
func (e *signingError) Unwrap() error { return e.err }
