package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
)

var elfArchs = map[elf.Machine]string{
	elf.EM_X86_64:  "amd64",
	elf.EM_AARCH64: "arm64",
}

// programArch returns the architecture (GOARCH) of all files. It fails if a file is not a static Linux program, because
// the images contain no libraries.
func programArch(files []string) (string, error) {
	arch := ""
	for _, file := range files {
		got, err := fileArch(file)
		if err != nil {
			return "", fmt.Errorf("program %s: %w", file, err)
		}
		if arch != "" && got != arch {
			return "", fmt.Errorf("program %s is for %s, but %s is for %s", files[0], arch, file, got)
		}
		arch = got
	}
	return arch, nil
}

func fileArch(path string) (string, error) {
	file, err := elf.Open(path)
	if err != nil {
		var format *elf.FormatError
		if errors.As(err, &format) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return "", errors.New("not a Linux program")
		}
		return "", err
	}
	defer func() { _ = file.Close() }()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return "", errors.New("dynamically linked; build it with CGO_ENABLED=0")
		}
	}
	arch, known := elfArchs[file.Machine]
	if !known {
		return "", fmt.Errorf("built for %s; want amd64 or arm64", file.Machine)
	}
	return arch, nil
}
