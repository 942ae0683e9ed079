package seeder

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/etcd-suite/etcd-operator/internal/seed"
)

// retryFor is short enough for a Pod that cannot work to say so soon; the kubelet starts it again.
const retryFor = 2 * time.Minute

// Main runs the init container with its arguments, the first of which is seed.Command, and returns its exit code.
// Its log goes to standard output; what made it fail is one line on standard error and in the termination log.
func Main(ctx context.Context, args []string) int {
	log := zap.New(zap.WriteTo(os.Stdout), zap.JSONEncoder())
	err := run(ctx, args, log)
	if err != nil {
		report(err, os.Stderr, seed.TerminationLog)
	}
	return Code(err)
}

func run(ctx context.Context, args []string, log logr.Logger) error {
	request, err := seed.Parse(args)
	if err != nil {
		return fmt.Errorf("%w: %w", errArguments, err)
	}
	seeder := Seeder{CredentialsDir: seed.CredentialsDir, RetryFor: retryFor, Log: log}
	defer seeder.serve()()
	return seeder.Seed(ctx, request)
}

// report says why in one line. The termination log is a file that a kubelet has made, and is absent elsewhere.
func report(err error, stderr io.Writer, terminationLog string) {
	line := strings.Join(strings.Fields(err.Error()), " ")
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "…"
	}
	fmt.Fprintln(stderr, line)
	if file, err := os.OpenFile(terminationLog, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
		fmt.Fprintln(file, line)
		_ = file.Close()
	}
}

// maxLine is well below the 4096 bytes that a kubelet takes of a termination log.
const maxLine = 2000
