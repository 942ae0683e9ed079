package dbfile

import (
	"errors"
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// PanickingLogger returns a logger for etcd's storage code that writes nothing. Fatal and panic entries become a panic with
// the cause that etcd has logged. etcd's own panic has only the message of the entry, so a full disk could not be told from
// a damaged snapshot.
func PanickingLogger() *zap.Logger {
	return zap.New(zapcore.NewNopCore(), zap.WithFatalHook(panicWithCause{}), zap.WithPanicHook(panicWithCause{}))
}

type panicWithCause struct{}

func (panicWithCause) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	for _, field := range fields {
		if cause, is := field.Interface.(error); is {
			panic(fmt.Errorf("%s: %w", entry.Message, cause)) //nolint:forbidigo // etcd expects that these entries end the call
		}
	}
	panic(errors.New(entry.Message)) //nolint:forbidigo // as above
}

// Panicked returns the error of a recovered panic.
func Panicked(recovered any) error {
	if err, is := recovered.(error); is {
		return err
	}
	return fmt.Errorf("%v", recovered)
}
