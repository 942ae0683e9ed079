package watch

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
)

// never is longer than any test.
const never = time.Hour

// connected returns the two ends of a connection. The first one gathers.
func connected(t *testing.T, during time.Duration) (reader, writer net.Conn) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if writer, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = writer.Close() })
	reader = gather(conn, during)
	if reader == conn {
		t.Fatal("the connection does not gather")
	}
	return reader, writer
}

// read reads once, in the background.
func read(conn net.Conn) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 64<<10))
		done <- err
	}()
	return done
}

// Otherwise the archiver wakes up for each change, and takes the processor from a member that shares it.
func TestManySmallMessagesAreReadWithFewReads(t *testing.T) {
	const messages, spacing, during = 300, time.Millisecond, 50 * time.Millisecond
	reader, writer := connected(t, during)
	began := time.Now()
	go func() {
		defer writer.Close()
		ticks := time.NewTicker(spacing)
		defer ticks.Stop()
		for range messages {
			if _, err := writer.Write(make([]byte, 100)); err != nil {
				return
			}
			<-ticks.C
		}
	}()
	reads, total := 0, 0
	for buffer := make([]byte, 64<<10); ; reads++ {
		n, err := reader.Read(buffer)
		if total += n; errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if total != 100*messages {
		t.Errorf("read %d bytes, want %d", total, 100*messages)
	}
	if limit := 10 + 3*int(time.Since(began)/during); reads > limit { // a busy machine takes longer
		t.Errorf("%d messages took %d reads, want at most %d", messages, reads, limit)
	}
}

// Otherwise a change of a quiet cluster would never be archived.
func TestASmallMessageIsReadAfterTheTime(t *testing.T) {
	const during = 10 * time.Millisecond
	reader, writer := connected(t, during)
	if err := reader.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	ticks := time.NewTicker(during / 3) // within the time of a read, and after it
	defer ticks.Stop()
	for range 20 {
		done := read(reader)
		<-ticks.C
		if _, err := writer.Write([]byte("change")); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// Otherwise an archiver that is behind could not catch up with its cluster.
func TestAFastStreamDoesNotWaitForTheTime(t *testing.T) {
	const size = 64 << 20
	reader, writer := connected(t, never)
	go func() {
		defer writer.Close()
		_, _ = writer.Write(make([]byte, size))
	}()
	if n, err := io.Copy(io.Discard, reader); err != nil || n != size {
		t.Errorf("read %d bytes and got error %v, want %d", n, err, size)
	}
}

// Otherwise an archiver could not be stopped at once.
func TestCloseEndsARead(t *testing.T) {
	reader, writer := connected(t, never)
	if _, err := writer.Write([]byte("change")); err != nil { // it is gathered, or read by the first read
		t.Fatal(err)
	}
	first, second := read(reader), read(reader)
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	for _, done := range []<-chan error{first, second} {
		if err := <-done; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, want net.ErrClosed", err)
		}
	}
}

// gRPC closes a connection with a deadline for the last answer.
func TestADeadlineEndsARead(t *testing.T) {
	reader, _ := connected(t, never)
	done := read(reader)
	if err := reader.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want a deadline", err)
	}
}

// Otherwise an archiver would take 15 seconds to use another member.
func TestTheEndOfTheConnectionEndsARead(t *testing.T) {
	reader, writer := connected(t, never)
	done := read(reader)
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want io.EOF", err)
	}
}

// A pipe has no kernel that could gather.
func TestWhatIsNoSocketIsReadAsItIs(t *testing.T) {
	one, other := net.Pipe()
	defer one.Close()
	defer other.Close()
	if gather(one, never) != one {
		t.Error("the connection is wrapped")
	}
}

// The archiver counts on it when it seals a segment before its oldest change is as old as maxLag.
func TestChangesAreGatheredForLessTimeThanTheArchiverAllowsFor(t *testing.T) {
	if gatherTime > archiver.Transit/2 {
		t.Errorf("changes are gathered for %s, and the archiver allows %s for that and for their way through etcd", gatherTime, archiver.Transit)
	}
}
