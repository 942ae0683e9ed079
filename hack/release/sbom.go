package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// sbom writes the list of all modules in the programs, as SPDX 2.3. The Go linker records them in each program.
func (r release) sbom(context.Context, options) error {
	doc := newDocument(r.version, r.time)
	for _, name := range operators {
		for _, arch := range []string{"amd64", "arm64"} {
			if err := doc.addProgram(r.path(name+"-linux-"+arch), name+"-linux-"+arch, r.version); err != nil {
				return err
			}
		}
	}
	if err := r.addPlugins(doc); err != nil {
		return err
	}
	raw, err := doc.bytes()
	if err != nil {
		return err
	}
	return r.write("sbom.spdx.json", raw)
}

// addPlugins adds the programs in the archives of kubectl etcd.
func (r release) addPlugins(doc *document) error {
	archives, err := filepath.Glob(r.path("kubectl-etcd-*.tar.gz"))
	if err != nil {
		return err
	}
	for _, path := range archives {
		packed, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files, err := unzip(packed)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if err := doc.addContent(files[0].content, strings.TrimSuffix(filepath.Base(path), ".tar.gz"), r.version); err != nil {
			return err
		}
	}
	return nil
}

// A document collects programs and their modules. Programs share modules.
type document struct {
	version  string
	time     time.Time
	programs []*spdx.Package
	modules  map[string]*spdx.Package // by ID
	needs    map[string]bool          // "<program's ID> <module's ID>"
}

func newDocument(version string, at time.Time) *document {
	return &document{version: version, time: at, modules: map[string]*spdx.Package{}, needs: map[string]bool{}}
}

func (d *document) addProgram(path, name, version string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return d.addContent(raw, name, version)
}

func (d *document) addContent(raw []byte, name, version string) error {
	info, err := buildinfo.Read(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("read the modules of %s: %w", name, err)
	}
	sum := sha256.Sum256(raw)
	program := pack(id(name), name, version)
	program.PackageFileName = name
	program.PrimaryPackagePurpose = "APPLICATION"
	program.PackageLicenseDeclared = "Apache-2.0"
	program.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: hex.EncodeToString(sum[:])}}
	d.programs = append(d.programs, program)
	d.addModule(program, "stdlib", strings.TrimPrefix(info.GoVersion, "go"))
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		d.addModule(program, module.Path, module.Version)
	}
	return nil
}

func (d *document) addModule(program *spdx.Package, path, version string) {
	module := pack(id(path+"-"+version), path, version)
	module.PrimaryPackagePurpose = "LIBRARY"
	module.PackageExternalReferences = []*spdx.PackageExternalReference{{
		Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: "pkg:golang/" + path + "@" + version,
	}}
	d.modules[string(module.PackageSPDXIdentifier)] = module
	d.needs[string(program.PackageSPDXIdentifier)+" "+string(module.PackageSPDXIdentifier)] = true
}

func pack(id common.ElementID, name, version string) *spdx.Package {
	return &spdx.Package{
		PackageName: name, PackageSPDXIdentifier: id, PackageVersion: version, PackageDownloadLocation: "NOASSERTION",
		PackageLicenseConcluded: "NOASSERTION", PackageLicenseDeclared: "NOASSERTION", PackageCopyrightText: "NOASSERTION",
	}
}

var notInIDs = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

func id(name string) common.ElementID { return common.ElementID(notInIDs.ReplaceAllString(name, "-")) }

// bytes returns the document as JSON. Its namespace contains a hash of the content, because SPDX wants a unique one.
func (d *document) bytes() ([]byte, error) {
	doc := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: "etcd-operator-" + d.version,
		CreationInfo: &spdx.CreationInfo{
			Created:  d.time.Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Organization", Creator: "etcd-suite"}, {CreatorType: "Tool", Creator: "hack/release"}},
		},
		Packages: slices.Clone(d.programs),
	}
	hash := sha256.New()
	for _, program := range d.programs {
		hash.Write([]byte(program.PackageChecksums[0].Value))
		doc.Relationships = append(doc.Relationships, relation("DOCUMENT", common.TypeRelationshipDescribe, string(program.PackageSPDXIdentifier)))
	}
	for _, id := range slices.Sorted(maps.Keys(d.modules)) {
		doc.Packages = append(doc.Packages, d.modules[id])
	}
	for _, need := range slices.Sorted(maps.Keys(d.needs)) {
		program, module, _ := strings.Cut(need, " ")
		doc.Relationships = append(doc.Relationships, relation(program, common.TypeRelationshipDependsOn, module))
	}
	doc.DocumentNamespace = fmt.Sprintf("%s/sbom/%s/%s", repositoryURL, d.version, hex.EncodeToString(hash.Sum(nil)))
	var out bytes.Buffer
	if err := spdxjson.Write(doc, &out, spdxjson.Indent(" ")); err != nil {
		return nil, fmt.Errorf("write the SBOM: %w", err)
	}
	return out.Bytes(), nil
}

func relation(from, kind, to string) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.MakeDocElementID("", from), RefB: common.MakeDocElementID("", to), Relationship: kind}
}
