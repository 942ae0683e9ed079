// Package abs keeps objects in Azure Blob Storage, as block blobs in one container.
//
// The identity needs the right to read, write, delete and list blobs in the
// container (the role Storage Blob Data Contributor).
//
// Put stages blocks, which are no object until they are committed, and relies on
// If-None-Match: * for the commit. Azure discards the uncommitted blocks
// of a failed Put after a week, or when the blob is written, and offers no request
// to remove them. They are billed until then.
//
// Accounts with a hierarchical namespace list in another order than the contract
// of objstore wants: List fails there as soon as it notices. Azure also drops a dot
// at the end of a blob's name or of a part of it.
package abs

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/stall"
)

// Config says which container, and who asks.
type Config struct {
	Container string
	// Endpoint is the URL of the account's blob service. Empty means that of Account in
	// Cloud. An emulator's URL ends in the account, such as http://127.0.0.1:10000/account.
	Endpoint string
	// Account is the name of the storage account.
	Account string
	// Key is one of the account's two keys, base64. Empty means the ambient identity.
	Key string
	// KeyFor are the endpoints beside Azure's for which the owner of Key allows to sign. If there are none, Key signs for each endpoint, unless
	// OnlyNamed is true.
	KeyFor    string
	OnlyNamed bool
	// Cloud is the name of an Azure cloud, such as "AzureChinaCloud". Empty means the public one.
	Cloud string
	// Patience is how long the store may be silent before a request is tried again; 0 is stall.DefaultLimit.
	Patience time.Duration
}

// Store is a container.
type Store struct {
	container string
	endpoint  string
	client    *container.Client
	// identity is the ambient one. It is nil if the store was opened with a key.
	identity azcore.TokenCredential
	options  azcore.ClientOptions
}

// Open prepares a store. It sends no request yet.
func Open(c Config) (*Store, error) {
	store, err := c.open()
	if err != nil {
		return nil, fmt.Errorf("open ABS container %s: %w", c.Container, err)
	}
	return store, nil
}

func (c Config) open() (*Store, error) {
	cloud, err := cloudOf(c.Cloud, c.Endpoint)
	if err != nil {
		return nil, err
	}
	endpoint, err := c.serviceURL(cloud)
	if err != nil {
		return nil, err
	}
	if err := c.allowed(endpoint); err != nil {
		return nil, err
	}
	s := &Store{container: c.Container, endpoint: endpoint}
	location := strings.TrimRight(endpoint, "/") + "/" + url.PathEscape(c.Container)
	s.options = c.clientOptions()
	options := &container.ClientOptions{ClientOptions: s.options}
	if c.Key == "" {
		identity, err := ambient(cloud, endpoint)
		if err != nil {
			return nil, err
		}
		s.identity = identity
		s.client, err = container.NewClient(location, identity, options)
		return s, err
	}
	key, err := container.NewSharedKeyCredential(c.Account, c.Key)
	if err != nil {
		return nil, errors.New("storage-key is not the key of a storage account: it must be base64")
	}
	s.client, err = container.NewClientWithSharedKeyCredential(location, key, options)
	return s, err
}

// allowed refuses to sign for an endpoint that the owner of Key did not name. A signature does not cover the name of the host. So a server of a user
// who may create an object that names the Secret could send the request on to Azure, and read the object.
func (c Config) allowed(endpoint string) error {
	u, err := url.Parse(endpoint)
	azures := err == nil && u.Scheme == "https" && Azures(u.Hostname())
	if c.Key == "" || azures || objstore.Names(c.KeyFor, endpoint) || c.KeyFor == "" && !c.OnlyNamed {
		return nil
	}
	return fmt.Errorf("the operator signs with the key of the Secret only for Azure and for the URLs in its key endpoint. To allow %s, write it there", endpoint)
}

// ambient is the identity of the process. Its tokens must not reach a server that
// a user of the cluster chose, so the endpoint has to be Azure's.
func ambient(cloud azureCloud, endpoint string) (azcore.TokenCredential, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" || !cloud.has(u.Hostname()) {
		return nil, fmt.Errorf("the ambient identity is used only with an endpoint https://<account>.blob.%s: "+
			"write the keys storage-account and storage-key into the Secret for any other", cloud.suffix)
	}
	identity, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
		// Without a transport, the library makes one that stall.Configure does not reach.
		ClientOptions: azcore.ClientOptions{Cloud: cloud.configuration, Transport: client()},
	})
	return identified{identity}, err
}

// serviceURL is the URL of the account's blob service.
func (c Config) serviceURL(cloud azureCloud) (string, error) {
	if c.Account != "" && !accountName.MatchString(c.Account) {
		return "", errors.New("storage-account is not the name of a storage account: it has 3 to 24 lower case letters and digits")
	}
	switch {
	case c.Account == "" && c.Key != "":
		return "", errors.New("storage-key needs the name of its account: write the key storage-account into the Secret")
	case c.Endpoint != "":
		return c.Endpoint, checkEndpoint(c.Endpoint)
	case c.Account == "":
		return "", errors.New("no storage account is named: write the key storage-account into the Secret, or its URL into abs.endpoint")
	}
	return "https://" + c.Account + ".blob." + cloud.suffix, nil
}

// checkEndpoint never repeats an endpoint that may hold a password.
func checkEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(endpoint, "?#") {
		return errors.New("the endpoint is not the URL of a blob service: write https://<account>.blob.core.windows.net, without user, password, query and fragment")
	}
	return nil
}

// The retries of one request: requests within an upload are tried for half a minute, because much
// has been sent by then.
const (
	retries       = 5
	blockRetries  = 10
	retryDelay    = 200 * time.Millisecond
	maxRetryDelay = 5 * time.Second
)

func retryOptions(max int32) policy.RetryOptions {
	return policy.RetryOptions{MaxRetries: max, RetryDelay: retryDelay, MaxRetryDelay: maxRetryDelay, ShouldRetry: mayPass}
}

// mayPass also tries a body again that changed on its way. It tries nothing again that the server has accepted.
func mayPass(response *http.Response, err error) bool {
	if page := (*objstore.AnswerError)(nil); errors.As(err, &page) {
		return page.Temporary()
	}
	if err != nil {
		return !errors.As(err, new(*stall.LimitError))
	}
	if response.StatusCode < http.StatusMultipleChoices {
		return false
	}
	return response.Header.Get("x-ms-error-code") == string(bloberror.MD5Mismatch) ||
		runtime.HasStatusCode(response, http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
}

func client() *http.Client {
	return &http.Client{Transport: stall.Connections(), CheckRedirect: stall.SameServer}
}

func (c Config) clientOptions() azcore.ClientOptions {
	transport := stall.Transport{Send: client().Do, DecodesLater: true}
	if c.Patience > 0 {
		transport.Limit = func(*http.Request) time.Duration { return c.Patience }
	}
	return azcore.ClientOptions{Transport: transport, Retry: retryOptions(retries)}
}
