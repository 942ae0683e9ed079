package s3

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// actions maps each request of this package to the right that Amazon demands for it.
var actions = map[string]string{
	"PutObject":               "s3:PutObject",
	"CreateMultipartUpload":   "s3:PutObject",
	"UploadPart":              "s3:PutObject",
	"CompleteMultipartUpload": "s3:PutObject",
	"AbortMultipartUpload":    "s3:AbortMultipartUpload",
	"ListMultipartUploads":    "s3:ListBucketMultipartUploads",
	"ListObjectsV2":           "s3:ListBucket",
	"GetObject":               "s3:GetObject",
	"HeadObject":              "s3:GetObject",
	"DeleteObject":            "s3:DeleteObject",
}

// options are rights that only an option of an EtcdBackup needs, each with the field of the request that sets the option.
var options = map[string]string{"s3:PutObjectTagging": "Tagging:", "s3:PutObjectRetention": "ObjectLockMode:"}

func TestTheDocumentedPolicyHasExactlyTheRightsOfTheRequests(t *testing.T) {
	want, code := map[string]bool{}, code(t)
	requests := regexp.MustCompile(`s3\.([A-Z]\w+)Input\{`).FindAllStringSubmatch(code, -1)
	if len(requests) < 10 {
		t.Fatalf("found only the requests %q, so the test tested too little", requests)
	}
	for _, request := range requests {
		action, known := actions[request[1]]
		if !known {
			t.Errorf("the right for %s is not known: add it to this test and to docs/install.md", request[1])
		}
		want[action] = true
	}
	for action, field := range options {
		if strings.Contains(code, field) {
			want[action] = true
		}
	}
	page, err := os.ReadFile("../../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, policy, _ := strings.Cut(string(page), "```json\n")
	policy, table, _ := strings.Cut(policy, "```")
	documented := map[string]bool{}
	for _, action := range regexp.MustCompile(`"(s3:\w+)"`).FindAllStringSubmatch(policy, -1) {
		documented[action[1]] = true
		if !want[action[1]] {
			t.Errorf("docs/install.md grants %s, which no request needs", action[1])
		}
		if !strings.Contains(table, "| `"+action[1]+"` |") {
			t.Errorf("docs/install.md does not explain %s", action[1])
		}
	}
	for action := range want {
		if !documented[action] {
			t.Errorf("docs/install.md does not grant %s", action)
		}
	}
}

// code of this package, without tests.
func code(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
