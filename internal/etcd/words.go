package etcd

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// A user may name any server that the operator reaches as an etcd, and reads in a status what it answers. So an error has only these words of
// an answer: gRPC's code, and the messages that etcd is known to send.

const (
	// otherWords replace a message that is none of etcd's.
	otherWords = "the message is none of etcd's, so it is not shown"
	// notUnderstood replaces a text about an answer that is not in gRPC.
	notUnderstood = "the answer cannot be understood, so it is not from etcd or was damaged on the way"
)

// Words returns message if etcd is known to send it, and a text that repeats nothing otherwise.
func Words(message string) string {
	if knownWords(message) {
		return message
	}
	return otherWords
}

// plainWords are messages of etcd that package rpctypes does not have, beside plainRefusals.
var plainWords = map[string]bool{
	"context canceled": true, "context deadline exceeded": true, "raft: stopped": true, "raft proposal dropped": true,
	"etcdserver: server stopped": true, "etcdserver: not capable": true,
}

// coded is the form in which etcd sends the reason of a cancelled watch.
var coded = regexp.MustCompile(`^rpc error: code = [A-Za-z]+ desc = `)

func knownWords(message string) bool {
	message = strings.TrimPrefix(message, coded.FindString(message))
	var known rpctypes.EtcdError
	return errors.As(rpctypes.Error(errors.New(message)), &known) || plainRefusals[message] != NotRefused || plainWords[message]
}

// localWords are the beginnings of texts that gRPC writes about a connection. They name addresses, certificates and numbers.
var localWords = []string{
	"connection error: desc = ", "last connection error: ", "error reading from server: ", "error reading server preface: ", "closing transport due to: ",
	"keepalive ping failed", "the client connection is closing", "grpc: the client connection is closing", "transport is closing",
	"grpc: received message larger than max", "grpc: received message after decompression larger than max",
	"name resolver error: ", "latest balancer error: ", "received context error while waiting for new LB policy update: ", "no children to pick from",
	"there is no address available", "stream terminated by RST_STREAM with error code: ", "context canceled", "context deadline exceeded", "EOF", "unexpected EOF",
}

var (
	httpAnswer = regexp.MustCompile(`^unexpected HTTP status code received from server: [0-9]+ \([A-Za-z '-]*\)`)
	// quoted is where such a text begins to quote an answer.
	quoted = regexp.MustCompile(`,? (debug data|response): `)
)

// refusedHere is what gRPC itself writes about a message that it does not read. The status of the server may have arrived before, so that it seems to
// be the server's text. It has only numbers.
var refusedHere = regexp.MustCompile(`^grpc: (received )?message (after decompression )?larger than max (\([0-9]{1,10} vs\. [0-9]{1,10}\)|[0-9]{1,10})$`)

// aboutConnection returns a text that gRPC has written without what it quotes.
func aboutConnection(text string) string {
	if answer := httpAnswer.FindString(text); answer != "" {
		return answer + ", so it is not etcd that answers"
	}
	for _, begin := range localWords {
		if !strings.HasPrefix(text, begin) {
			continue
		}
		if at := quoted.FindStringIndex(text); at != nil {
			return text[:at[0]]
		}
		return text
	}
	return notUnderstood
}

// withWords returns an error of gRPC with the words that may be shown. answered reports whether the message is from the server.
func withWords(err error, answered bool) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	words := aboutConnection(s.Message())
	if answered && !refusedHere.MatchString(s.Message()) {
		words = Words(s.Message())
	}
	if words == s.Message() && len(s.Details()) == 0 {
		return err
	}
	return status.Error(s.Code(), words)
}

// OnlyKnownWords are the options of a connection whose errors have no other words of a server. They come after all other options, so that no
// other interceptor sees such words.
func OnlyKnownWords() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithStatsHandler(answers{}),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			ctx, answered := withAnswered(ctx)
			return withWords(call(ctx, method, req, reply, conn, opts...), answered.Load())
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			ctx, answered := withAnswered(ctx)
			s, err := open(ctx, desc, conn, method, opts...)
			if err != nil {
				return nil, withWords(err, answered.Load())
			}
			return &wordStream{s, answered}, nil
		}),
	}
}

type wordStream struct {
	grpc.ClientStream
	answered *atomic.Bool
}

func (s *wordStream) SendMsg(m any) error {
	return withWords(s.ClientStream.SendMsg(m), s.answered.Load())
}

func (s *wordStream) RecvMsg(m any) error {
	return withWords(s.ClientStream.RecvMsg(m), s.answered.Load())
}

// answers is a stats.Handler that finds out whether the status of a call is from the server.
type answers struct{}

type answeredKey struct{}

func withAnswered(ctx context.Context) (context.Context, *atomic.Bool) {
	answered := &atomic.Bool{}
	return context.WithValue(ctx, answeredKey{}, answered), answered
}

// TagRPC is that of stats.Handler, like the other methods.
func (answers) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (answers) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (answers) HandleConn(context.Context, stats.ConnStats)                       {}

func (answers) HandleRPC(ctx context.Context, s stats.RPCStats) {
	answered, ok := ctx.Value(answeredKey{}).(*atomic.Bool)
	if !ok {
		return
	}
	switch s.(type) {
	case *stats.Begin: // also of another attempt
		answered.Store(false)
	case *stats.InTrailer:
		answered.Store(true)
	}
}
