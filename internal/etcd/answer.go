package etcd

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxAnswer limits each answer that is no stream: the status, the membership, a revision, a token. They have some KiB: 26 KiB for eight
// members with the longest names and ten long URLs each. Decoded, empty entries take about 100 times as much.
const maxAnswer = 64 << 10

// errTooLong replaces the error of gRPC, which has another number each time.
var errTooLong = status.Error(codes.ResourceExhausted, fmt.Sprintf("the answer is longer than %d KiB, which is not an answer of etcd", maxAnswer>>10))

// maxHeaders limits the headers of each answer, in bytes. Those of etcd have some hundred. gRPC allows 16 MiB by default.
const maxHeaders = 64 << 10

// ShortAnswers are the options of a connection that limit the headers of answers, and answers that are no stream. A call with a longer answer
// fails, and is not repeated.
func ShortAnswers() []grpc.DialOption {
	short := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := call(ctx, method, req, reply, conn, append(opts[:len(opts):len(opts)], grpc.MaxCallRecvMsgSize(answerLimit(ctx)))...)
		if TooLong(err) {
			return errTooLong
		}
		return err
	})
	return []grpc.DialOption{short, grpc.WithMaxHeaderListSize(maxHeaders)}
}

// TooLong reports whether gRPC has refused a message because it is longer than the limit of its call.
func TooLong(err error) bool {
	return status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max")
}
