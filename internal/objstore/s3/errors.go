package s3

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
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
		text: fmt.Sprintf("%s %q in S3 bucket %s at %s: %s%s", op, key, s.bucket, s.endpoint, brief(err), advice),
		err:  err,
	}
}

// classify maps the error codes of S3 and compatible stores, and otherwise the HTTP status, to a kind and advice.
func classify(err error) (advice string, kind error) {
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
		return " (the server must support conditional writes with If-None-Match, which protect existing snapshots)", nil
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return " (check the region: the bucket may be in another region)", nil
	case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "AccountProblem", "XAdminUserNotFound":
		return "", fs.ErrPermission
	}
	switch status(err) {
	case http.StatusForbidden, http.StatusUnauthorized:
		return "", fs.ErrPermission
	case http.StatusPreconditionFailed:
		return "", fs.ErrExist
	}
	if noCredentials(err) {
		return " (name a Secret with credentials, or give the operator's service account an identity)", fs.ErrPermission
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

// brief returns the server's error code and message if there is one. The SDK's text would begin with operation names,
// attempts and request IDs.
func brief(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err.Error()
	}
	text := api.ErrorCode()
	if message := strings.TrimSpace(api.ErrorMessage()); message != "" {
		text += ": " + message
	}
	return text
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

var _ aws.CredentialsProvider = markedCredentials{}
