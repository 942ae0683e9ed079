package save

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbcheck"
)

func TestMain(m *testing.M) {
	dbcheck.InThisProcess()
	m.Run()
}
