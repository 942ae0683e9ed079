package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/signed"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// Lifetime is how long a signed URL is valid, unless the identity that signs it expires sooner.
const Lifetime = time.Hour

// Sign signs a URL to read src. It reads the first byte by the URL, as the seed will, so that a URL without rights is an
// error here. The error is errors.ErrUnsupported if the store cannot sign.
func Sign(ctx context.Context, src v1beta2.RestoreSource, by By) (objstore.SignedURL, error) {
	store, err := open(ctx, src, by)
	if err != nil {
		return objstore.SignedURL{}, err
	}
	signer, ok := store.(objstore.Signer)
	if !ok {
		return objstore.SignedURL{}, fmt.Errorf("%w: a store of type %s signs no URLs", errors.ErrUnsupported, src.StorageType)
	}
	url, err := signer.SignGet(ctx, src.Key, Lifetime)
	if err != nil {
		return objstore.SignedURL{}, err
	}
	object, err := bySignedURL(by.Secret, func() (objstore.SignedURL, error) { return url, nil }).Get(ctx, src.Key)
	if err != nil {
		return objstore.SignedURL{}, err
	}
	defer object.Close()
	if _, err := io.ReadFull(object, make([]byte, 1)); err != nil {
		return objstore.SignedURL{}, fmt.Errorf("read the first byte by the signed URL: %w", err)
	}
	return url, nil
}

// ReadSigned is ReadAgain by a signed URL, for an object of that size. url is called for each request.
func ReadSigned(ctx context.Context, src v1beta2.RestoreSource, url func() (objstore.SignedURL, error), secret map[string][]byte, dir string, progress Progress, sha256 string, size int64) (Proven, error) {
	store := counted{bySignedURL(secret, url), func(_ string, bytes int64) { progress(bytes, size) }}
	fetched, err := proof.FetchAgain(ctx, store, src.Key, proof.Alone(dir), connect.Identity(secret), sha256)
	if err != nil {
		return Proven{}, err
	}
	return provenOf(src, fetched), nil
}

func bySignedURL(secret map[string][]byte, url func() (objstore.SignedURL, error)) signed.Reader {
	return signed.Reader{URL: url, CABundle: secret[v1beta2.CAKey]}
}

// The keys of the Secret with a signed URL.
const (
	urlKey    = "url"
	headerKey = "header"
)

// URLData returns the data of the Secret with a signed URL.
func URLData(url objstore.SignedURL) (map[string][]byte, error) {
	data := map[string][]byte{urlKey: []byte(url.URL)}
	if len(url.Header) == 0 {
		return data, nil
	}
	var header bytes.Buffer
	if err := url.Header.Write(&header); err != nil {
		return nil, fmt.Errorf("write the headers of a signed URL: %w", err)
	}
	data[headerKey] = header.Bytes()
	return data, nil
}

// URLOf is the inverse of URLData.
func URLOf(data map[string][]byte) (objstore.SignedURL, error) {
	url := objstore.SignedURL{URL: string(data[urlKey])}
	if url.URL == "" {
		return url, fmt.Errorf("the Secret with the signed URL has no key %s", urlKey)
	}
	if header := data[headerKey]; len(header) > 0 {
		lines, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(append(header, "\r\n"...)))).ReadMIMEHeader()
		if err != nil {
			return url, errors.New("the headers in the Secret with the signed URL cannot be read") // the error has a value
		}
		url.Header = http.Header(lines)
	}
	return url, nil
}
