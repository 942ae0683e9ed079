package source

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func TestURLOfIsTheInverseOfURLData(t *testing.T) {
	for name, header := range map[string]http.Header{"without headers": nil, "with headers": {"X-Key": {"a=="}, "X-Sum": {"b"}}} {
		t.Run(name, func(t *testing.T) {
			want := objstore.SignedURL{URL: "https://host/k?sig=1", Header: header}
			data, err := URLData(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := URLOf(data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
	if _, err := URLOf(map[string][]byte{}); err == nil {
		t.Error("a Secret without a URL is accepted")
	}
}

func TestAStoreThatSignsNothingIsUnsupported(t *testing.T) {
	src := v1beta2.RestoreSource{StorageType: "File", Bucket: t.TempDir(), Key: "k"}
	if _, err := Sign(t.Context(), src, By{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}
