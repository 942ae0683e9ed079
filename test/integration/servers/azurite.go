package servers

import (
	"net"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// AzuriteServer is a running Azurite, the emulator of Azure Blob Storage.
type AzuriteServer struct {
	*Process
	// URL of the server, and Endpoint of its one account, as the abs store's Endpoint wants it.
	URL, Endpoint string
	Account, Key  string
}

// The account and the key that every Azurite has.
const (
	azuriteAccount = "devstoreaccount1"
	azuriteKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Azurite starts an emulator without containers.
func Azurite(t testing.TB) *AzuriteServer {
	t.Helper()
	program := Program(t, "azurite-blob")
	address := FreeAddress(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatalf("split %s: %v", address, err)
	}
	s := &AzuriteServer{URL: "http://" + address, Account: azuriteAccount, Key: azuriteKey}
	s.Endpoint = s.URL + "/" + s.Account
	// It does not know the newest version of the protocol, of which nothing is used here.
	s.Process = newProcess(t, "azurite", program, nil,
		"--blobHost", host, "--blobPort", port, "--location", t.TempDir(), "--silent", "--skipApiVersionCheck")
	s.Start()
	s.AwaitHTTP(s.Endpoint)
	return s
}

// CreateContainer makes an empty container.
func (s *AzuriteServer) CreateContainer(t testing.TB, name string) {
	t.Helper()
	key, err := container.NewSharedKeyCredential(s.Account, s.Key)
	if err != nil {
		t.Fatal(err)
	}
	options := &container.ClientOptions{}
	options.Retry = policy.RetryOptions{MaxRetries: 1}
	client, err := container.NewClientWithSharedKeyCredential(s.Endpoint+"/"+name, key, options)
	if err == nil {
		_, err = client.Create(t.Context(), nil)
	}
	if err != nil {
		t.Fatalf("create container %s: %v", name, err)
	}
}
