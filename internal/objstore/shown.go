package objstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/etcd-suite/etcd-operator/internal/legible"
)

// OwnWords is an error whose text repeats nothing that a server answered.
type OwnWords interface {
	error
	OwnWords()
}

// Own returns err as OwnWords.
func Own(err error) error { return &own{err} }

type own struct{ error }

func (*own) OwnWords()       {}
func (o *own) Unwrap() error { return o.error }

// Codes are the error codes of a store's API.
type Codes map[string]bool

// CodesOf returns the codes in a text, which has white space between them.
func CodesOf(list string) Codes {
	codes := Codes{}
	for code := range strings.FieldsSeq(list) {
		codes[code] = true
	}
	return codes
}

// Answer is the text of an answer of a server that anyone may have chosen: its HTTP status and, if the API has it, its code. Every other
// byte of the answer may be the content of a server that a user must not read.
func (c Codes) Answer(status int, code string) string {
	text := fmt.Sprintf("%d %s", status, http.StatusText(status))
	switch {
	case c[code]:
		text += ": " + code
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		text += ": a redirect to another server, which the operator does not follow"
	}
	return strings.TrimSpace(text)
}

// Cause is the text of an error of an HTTP client or of the SDK of a store. Such an error may quote an answer, so the text is that of the
// first error in the chain which is known to quote nothing.
func Cause(err error) string {
	var own OwnWords
	if errors.As(err, &own) {
		return own.Error()
	}
	for _, sentinel := range []error{context.Canceled, context.DeadlineExceeded, http.ErrSchemeMismatch, io.ErrUnexpectedEOF, io.EOF, net.ErrClosed} {
		if errors.Is(err, sentinel) {
			return sentinel.Error()
		}
	}
	if known := cmp.Or(legible.Certificate(err), ofNetwork(err)); known != nil {
		return known.Error()
	}
	return fmt.Sprintf("the answer cannot be understood, so it is not from the store or was damaged on the way (%T)", innermost(err))
}

// ofNetwork returns the error of the network, of TLS or of a file in a chain. It names addresses and files.
func ofNetwork(err error) error {
	for _, known := range []func(error) error{
		first[*net.OpError], first[*net.DNSError], first[tls.RecordHeaderError], first[tls.AlertError], first[*fs.PathError],
		first[syscall.Errno], first[ContentError],
	} {
		if of := known(err); of != nil {
			return of
		}
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("the request took too long")
	}
	return nil
}

// first returns the first error of a type in a chain.
func first[T error](err error) error {
	var of T
	if errors.As(err, &of) {
		return of
	}
	return nil
}

func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
