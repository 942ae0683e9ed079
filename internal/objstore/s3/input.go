package s3

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// create returns the request that begins a multipart upload.
func (u *upload) create(now time.Time) *s3.CreateMultipartUploadInput {
	o := u.options
	return &s3.CreateMultipartUploadInput{
		Bucket: &u.bucket, Key: &u.key,
		ServerSideEncryption: types.ServerSideEncryption(o.Encryption), SSEKMSKeyId: optional(o.KMSKeyID),
		SSECustomerAlgorithm: u.customerKey.algorithm, SSECustomerKey: u.customerKey.key, SSECustomerKeyMD5: u.customerKey.md5,
		StorageClass:   types.StorageClass(o.StorageClass),
		ObjectLockMode: types.ObjectLockMode(o.LockMode), ObjectLockRetainUntilDate: o.retainUntil(now),
		Tagging: optional(o.tagging()),
	}
}

// put returns the request of a single upload with the same settings.
func (u *upload) put(now time.Time) *s3.PutObjectInput {
	c := u.create(now)
	return &s3.PutObjectInput{
		Bucket: c.Bucket, Key: c.Key, ServerSideEncryption: c.ServerSideEncryption, SSEKMSKeyId: c.SSEKMSKeyId,
		SSECustomerAlgorithm: c.SSECustomerAlgorithm, SSECustomerKey: c.SSECustomerKey, SSECustomerKeyMD5: c.SSECustomerKeyMD5,
		StorageClass: c.StorageClass, ObjectLockMode: c.ObjectLockMode, ObjectLockRetainUntilDate: c.ObjectLockRetainUntilDate,
		Tagging: c.Tagging,
	}
}
