// Package measure is what the benchmarks share: their settings, a plain upload to compare with, and the anonymous memory
// of a process.
package measure

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// Setting is the number in an environment variable.
func Setting(b *testing.B, name string, otherwise int) int {
	b.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// Median of some times; there is at least one.
func Median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// S3 starts a server with one empty bucket.
func S3(b *testing.B) (*servers.S3Server, connect.Access) {
	b.Helper()
	const bucket = "bench"
	server := servers.S3(b)
	server.CreateBucket(b, bucket)
	return server, connect.Access{
		Location: storage.Location{Provider: v1beta2.StorageS3, Bucket: bucket, Endpoint: server.Endpoint, Region: server.Region, ForcePathStyle: true},
		Data:     map[string][]byte{"access-key-id": []byte(server.AccessKey), "secret-access-key": []byte(server.SecretKey)},
	}
}

// Upload puts a file as it is.
func Upload(b *testing.B, store objstore.Store, key, file string) {
	b.Helper()
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := store.Put(b.Context(), key, f); err != nil {
		b.Fatal(err)
	}
}

// Put is Upload by S3's own client, in one request.
func Put(b *testing.B, server *servers.S3Server, bucket, key, file string) {
	b.Helper()
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	client := s3.New(s3.Options{
		BaseEndpoint: &server.Endpoint, Region: server.Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	if _, err := client.PutObject(b.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: f}); err != nil {
		b.Fatal(err)
	}
}

// CPU is how long a running process has been on a processor, its own time and the kernel's for it; 0 when it has ended.
func CPU(pid int) time.Duration {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(content), ") ") // the name before may hold anything
	fields := strings.Fields(after)
	const user, kernel, tick = 11, 12, 10 * time.Millisecond // proc(5), counted from the state on
	total := time.Duration(0)
	for _, at := range []int{user, kernel} {
		if at < len(fields) {
			n, _ := strconv.Atoi(fields[at])
			total += time.Duration(n) * tick
		}
	}
	return total
}

// Anonymous is a process' RssAnon in bytes; 0 when it has just ended.
func Anonymous(pid int) int {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "RssAnon:"); ok {
			kib, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(text, "kB")))
			return kib << 10
		}
	}
	return 0
}
