package operator

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// A page of a list has ten objects, and a tenant decides how large each one is. Without the bound, an operator decodes all of them at once, and ends
// for lack of memory.
func TestAnAnswerOfTheAPIServerAboveItsBoundIsNotDecoded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 10<<10)) }))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	wrap(config, Options{Server: &clock.Server{}})
	c, err := rest.UnversionedRESTClientFor(&rest.Config{Host: server.URL, WrapTransport: config.WrapTransport, QPS: -1, ContentConfig: rest.ContentConfig{NegotiatedSerializer: codecs(t)}})
	if err != nil {
		t.Fatal(err)
	}
	for most, large := range map[int64]bool{1 << 10: true, 10<<10 - 1: true, 10 << 10: false} {
		content, err := c.Get().AbsPath("/").DoRaw(kube.AtMost(t.Context(), most))
		if errors.Is(err, kube.ErrAnswerTooLarge) != large || !large && len(content) != 10<<10 {
			t.Errorf("bound %d: %d bytes, error %v", most, len(content), err)
		}
	}
	if content, err := c.Get().AbsPath("/").DoRaw(t.Context()); err != nil || len(content) != 10<<10 {
		t.Errorf("without a bound: %d bytes, error %v", len(content), err)
	}
}

func codecs(t *testing.T) serializer.CodecFactory {
	t.Helper()
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	return serializer.NewCodecFactory(scheme)
}
