package seeder

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/etcd-suite/etcd-operator/internal/legible"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/storage/reach"
)

// retryFor is how long the seed retries before its container fails, which shows the reason in the Pod's status. The
// kubelet then restarts the container.
const retryFor = 2 * time.Minute

// Main runs the init container and returns its exit code. The first argument is seed.Command. The log is written to
// standard output. The reason of a failure is one line on standard error and in the termination log. The progress is served at
// that address of this machine, or at all of them if it is empty.
func Main(ctx context.Context, args []string, address string) int {
	log := zap.New(zap.WriteTo(legible.Log(os.Stdout)), zap.JSONEncoder())
	err := run(ctx, args, address, log)
	if err != nil {
		report(err, os.Stderr, seed.TerminationLog)
	}
	return Code(err)
}

func run(ctx context.Context, args []string, address string, log logr.Logger) error {
	request, err := seed.Parse(args)
	if err != nil {
		return fmt.Errorf("%w: %w", errArguments, err)
	}
	if err := reach.FromEnvironment().Apply(); err != nil {
		return fmt.Errorf("%w: %w", errArguments, err)
	}
	seeder := Seeder{CredentialsDir: seed.CredentialsDir, SignedURLDir: seed.SignedURLDir, PodDir: seed.PodDir, VolumeDir: seed.VolumeDir, RetryFor: retryFor, DataRequired: os.Getenv(seed.EnvDataRequired) != "", Log: log}
	defer seeder.serve(address)()
	err = seeder.Seed(ctx, request)
	if result := cmp.Or(Promoted(request.DataDir), VolumeRead(request.DataDir)); err == nil && result != "" {
		writeLine(result, seed.TerminationLog)
	}
	return err
}

// report writes the error as one line. The termination log is a file that the kubelet creates; outside of a Pod it is
// missing and not created.
func report(err error, stderr io.Writer, terminationLog string) {
	line := strings.Join(strings.Fields(err.Error()), " ")
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "…"
	}
	fmt.Fprintln(stderr, line)
	writeLine(line, terminationLog)
}

// writeLine writes the termination message of the container.
func writeLine(line, terminationLog string) {
	if file, err := os.OpenFile(terminationLog, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
		fmt.Fprintln(file, line)
		_ = file.Close()
	}
}

// maxLine is well below the 4096 bytes of a termination log that a kubelet reads.
const maxLine = 2000
