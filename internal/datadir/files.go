package datadir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
)

// segment is a file of the write-ahead log. Its name has its number, and the index of the first entry that was written to it.
type segment struct {
	name          string
	number, first uint64
}

// segmentsAfter returns the files that have the entries after an index, in their order.
func segmentsAfter(root *os.Root, index uint64) ([]segment, error) {
	names, err := namesIn(root, logPath)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: it has no write-ahead log (%s), so the last writes would be missing. If etcd ran with --wal-dir, copy that folder to this place", ErrRefused, logPath)
	}
	if err != nil {
		return nil, err
	}
	var all []segment
	for _, name := range names {
		s := segment{name: name}
		if n, err := fmt.Sscanf(name, "%016x-%016x.wal", &s.number, &s.first); err == nil && n == 2 && name == fmt.Sprintf("%016x-%016x.wal", s.number, s.first) {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: its write-ahead log (%s) has no file, so the last writes would be missing. Use the directory of another member", ErrRefused, logPath)
	}
	slices.SortFunc(all, func(a, b segment) int { return cmp.Compare(a.number, b.number) })
	start := len(all) - 1
	for start > 0 && all[start].first > index+1 {
		start--
	}
	if all[start].first > index+1 {
		return nil, fmt.Errorf("%w: its write-ahead log begins with entry %d, but its database ends with entry %d. They do not belong together, or files of the log are missing. Use the directory of another member",
			ErrRefused, all[start].first, index)
	}
	for i := start + 1; i < len(all); i++ {
		if all[i].number != all[i-1].number+1 {
			return nil, fmt.Errorf("%w: files of its write-ahead log are missing between %s and %s. Use the directory of another member", ErrRefused, all[i-1].name, all[i].name)
		}
	}
	return all[start:], nil
}

// read reads the files, one after the other.
func (l *log) read(ctx context.Context, root *os.Root, segments []segment) error {
	if first := segments[0].first; first > 0 {
		l.last = first - 1
	}
	crc := uint32(0)
	for i, s := range segments {
		var err error
		if crc, err = l.file(ctx, root, s.name, crc, i == len(segments)-1); err != nil {
			return fmt.Errorf("read %s: %w", s.name, err)
		}
	}
	return nil
}

// file reads one file. The sum of each record covers all records before it, so each file continues with that of the file before it.
func (l *log) file(ctx context.Context, root *os.Root, name string, crc uint32, last bool) (uint32, error) {
	file, _, err := openRegular(root, path.Join(logPath, name))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	decoder := wal.NewDecoder(fileutil.NewFileReader(file))
	decoder.UpdateCRC(crc)
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		var record walpb.Record
		err := decoder.Decode(&record)
		switch {
		case errors.Is(err, io.EOF), last && torn(err):
			return decoder.LastCRC(), nil
		case err != nil:
			return 0, fmt.Errorf("%w: the write-ahead log is damaged: %w. Use the directory of another member", ErrRefused, err)
		}
		if record.GetType() == wal.CrcType {
			if sum := decoder.LastCRC(); sum != 0 && record.Validate(sum) != nil {
				return 0, fmt.Errorf("%w: the write-ahead log is damaged: its files do not follow each other. Use the directory of another member", ErrRefused)
			}
			decoder.UpdateCRC(record.GetCrc())
			continue
		}
		if err := l.record(ctx, &record); err != nil {
			return 0, err
		}
	}
}

// torn reports whether the write of the last record was interrupted, so that etcd has not acknowledged it: a sector of it is empty. A record that is longer than
// its file is another fault. etcd's package has the same error for it.
func torn(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(err.Error(), "max entry size limit exceeded")
}
