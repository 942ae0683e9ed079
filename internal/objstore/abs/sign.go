package abs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// signedBefore tolerates that the clock of the store is behind.
const signedBefore = 5 * time.Minute

// SignGet signs a URL to read key: a user delegation SAS. The identity needs the role Storage Blob Delegator on the account.
func (s *Store) SignGet(ctx context.Context, key string, lifetime time.Duration) (objstore.SignedURL, error) {
	if s.identity == nil {
		return objstore.SignedURL{}, s.wrap("sign", key, objstore.Own(fmt.Errorf("%w: the store was opened with a key", errors.ErrUnsupported)))
	}
	now := time.Now().UTC()
	starts, expires := now.Add(-signedBefore), now.Add(lifetime)
	client, err := service.NewClient(s.endpoint, s.identity, &service.ClientOptions{ClientOptions: s.options})
	if err != nil {
		return objstore.SignedURL{}, s.wrap("sign", key, err)
	}
	delegation, err := client.GetUserDelegationCredential(ctx, service.KeyInfo{
		Start: to.Ptr(starts.Format(sas.TimeFormat)), Expiry: to.Ptr(expires.Format(sas.TimeFormat)),
	}, nil)
	if err != nil {
		return objstore.SignedURL{}, s.wrap("sign", key, err)
	}
	query, err := sas.BlobSignatureValues{
		Protocol: sas.ProtocolHTTPS, StartTime: starts, ExpiryTime: expires,
		ContainerName: s.container, BlobName: key, Permissions: (&sas.BlobPermissions{Read: true}).String(),
	}.SignWithUserDelegation(delegation)
	if err != nil {
		return objstore.SignedURL{}, s.wrap("sign", key, err)
	}
	return objstore.SignedURL{URL: s.client.NewBlobClient(key).URL() + "?" + query.Encode(), Expires: expires}, nil
}
