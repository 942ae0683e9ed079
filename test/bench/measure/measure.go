// Package measure is shared by the benchmarks. It has their settings, a plain upload to compare with, and the processor
// time and anonymous memory of a process.
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

// Setting returns the number in an environment variable, or otherwise if it is not set.
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

// Median returns the median of one or more times. Of an even number, it is the mean of the two in the middle.
func Median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// S3 starts an S3 server with one empty bucket.
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

// Upload stores a file without changes.
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

// Put stores a file with AWS's client, in one request.
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

// CPU returns the processor time of a running process in user and kernel mode, or 0 if it has ended.
func CPU(pid int) time.Duration {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(content), ") ") // the process name before it may contain any character
	fields := strings.Fields(after)
	const user, kernel, tick = 11, 12, 10 * time.Millisecond // indexes of proc(5), starting at the state
	total := time.Duration(0)
	for _, at := range []int{user, kernel} {
		if at < len(fields) {
			n, _ := strconv.Atoi(fields[at])
			total += time.Duration(n) * tick
		}
	}
	return total
}

// Anonymous returns the anonymous memory (RssAnon) of a process in bytes, or 0 if it has ended.
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
