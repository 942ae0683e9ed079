package replay

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// chunkWriter writes the bytes of an object as chunks: the length in 4 bytes and the bytes. A length of 0 ends the object.
type chunkWriter struct{ to io.Writer }

func (w *chunkWriter) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if _, err := w.to.Write(binary.BigEndian.AppendUint32(nil, uint32(len(p)))); err != nil { // at most the size of a buffer
		return err
	}
	_, err := w.to.Write(p)
	return err
}

func (w *chunkWriter) end() error {
	_, err := w.to.Write(make([]byte, 4))
	return err
}

// chunkReader reads the bytes of one object. Close skips what was not read.
type chunkReader struct {
	from *bufio.Reader
	left uint32 // of the chunk
	end  bool
}

var errCutOff = errors.New("the input ends within an object")

func (r *chunkReader) Read(p []byte) (int, error) {
	if r.end || len(p) == 0 {
		return 0, io.EOF
	}
	if r.left == 0 {
		var length [4]byte
		if _, err := io.ReadFull(r.from, length[:]); err != nil {
			return 0, errCutOff
		}
		if r.left = binary.BigEndian.Uint32(length[:]); r.left == 0 {
			r.end = true
			return 0, io.EOF
		}
	}
	n, err := r.from.Read(p[:min(len(p), int(r.left))])
	r.left -= uint32(n) // at most left
	if err != nil {
		return n, errCutOff
	}
	return n, nil
}

// Close reads the object to its end.
func (r *chunkReader) Close() error {
	_, err := io.Copy(io.Discard, r)
	return err
}
