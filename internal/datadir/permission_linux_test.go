package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// etcd permits its folders only to its own user. A user whose members run as another one must read that, and not that the volume has no data: somebody would
// take it for empty, and delete it.
func TestTheFolderOfAnotherUserIsNotTakenForNone(t *testing.T) {
	m := newMember(t, 3, false).killed()
	volume := filepath.Dir(m.path)
	m.must(os.Mkdir(filepath.Join(volume, "lost+found"), 0))
	open := func(folder string) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if os.Geteuid() == 0 { // root may read everything
			m.must(syscall.Setfsuid(65532))
			defer func() { m.must(syscall.Setfsuid(0)) }()
		}
		d, err := Open(volume, folder)
		if err == nil {
			err = d.Close()
		}
		return err
	}
	for at := volume; at != "/"; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm()&0o5 != 0o5 && os.Geteuid() == 0 {
			m.must(os.Chmod(at, 0o755))
		}
		if at == os.TempDir() {
			break
		}
	}
	for _, closed := range []string{m.path, filepath.Join(m.path, "member")} {
		before, err := os.Stat(closed)
		m.must(err)
		m.must(os.Chmod(closed, 0))
		if err := open("."); !errors.Is(err, fs.ErrPermission) || errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", closed, err)
		}
		m.must(os.Chmod(closed, before.Mode()))
	}
	m.must(os.RemoveAll(m.path))
	if err := open("."); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "member/snap/db") {
		t.Errorf("a volume that has only lost+found: %v", err)
	}
}
