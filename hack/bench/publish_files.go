package main

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/model/fleettest"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// files calls each for all files of an output, in any order.
type files func(each func(path, content string) error) error

// synthetic is an output as large as that of a fleet, with three files of about 590 bytes for each
// assignment, no two of them the same.
func synthetic(size fleettest.Size) files {
	return func(each func(path, content string) error) error {
		for i := range size.ClusterTypes {
			if err := each(clusterType(i)+"/"+render.ReadmeFile, render.Readme); err != nil {
				return err
			}
		}
		for i := range size.Assignments() {
			folder := clusterType(i%size.ClusterTypes) + "/app-" + strconv.Itoa(i/size.ClusterTypes) + "-functional-test/"
			for _, name := range []string{render.NamespaceFile, render.ConfigFileYAML, render.ReconcilerFile} {
				if err := each(folder+name, syntheticText(folder+name, i)); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func clusterType(i int) string { return "cluster-type-" + strconv.Itoa(i) }

// syntheticText repeats itself as much as manifests do.
func syntheticText(name string, i int) string {
	number, hash := strconv.Itoa(i), strconv.FormatUint(uint64(uint32(i)*2654435761), 16)
	return `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: app-` + number + `-functional-test
  namespace: kustomize
  labels:
    workload: app-` + number + `
    deploymentTarget: functional-test
spec:
  interval: 10s
  targetNamespace: dev-team-app-` + number + `-functional-test
  sourceRef:
    kind: GitRepository
    name: app-` + number + `-functional-test
  path: "./` + name + `"
  prune: true
  postBuild:
    substituteFrom:
      - kind: ConfigMap
        name: platform-config-` + hash + `
      - kind: Secret
        name: tokens-of-team
        optional: true
`
}

// rendered is the output in a folder.
func rendered(dir string) files {
	return func(each func(path, content string) error) error {
		return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			inside, err := filepath.Rel(dir, name)
			if err != nil {
				return err
			}
			return each(filepath.ToSlash(inside), string(content))
		})
	}
}

const changes = 10

// changing are the paths of the files that change: evenly spread reconcilers.
func (f files) changing() (map[string]bool, error) {
	var all []string
	err := f(func(path, _ string) error {
		if strings.HasSuffix(path, "/"+render.ReconcilerFile) {
			all = append(all, path)
		}
		return nil
	})
	if len(all) < changes {
		return nil, fmt.Errorf("%d targets are too few (%w)", len(all), err)
	}
	chosen := map[string]bool{}
	for i := range changes {
		chosen[all[i*len(all)/changes]] = true
	}
	return chosen, err
}

// before is what a file that changes was.
func before(content string) string { return "# as it was\n" + content }

// only passes on the files of some paths.
func (f files) only(paths map[string]bool) files {
	return func(each func(path, content string) error) error {
		return f(func(path, content string) error {
			if !paths[path] {
				return nil
			}
			return each(path, content)
		})
	}
}

// older has some files as they were before.
func (f files) older(paths map[string]bool) files {
	return func(each func(path, content string) error) error {
		return f(func(path, content string) error {
			if paths[path] {
				content = before(content)
			}
			return each(path, content)
		})
	}
}

// none has no files.
func none(func(path, content string) error) error { return nil }

// writeStream writes the files as a commit for git fast-import, on top of what from names, if anything.
func (f files) writeStream(name, branch, from string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	fmt.Fprintf(w, "commit refs/heads/%s\ncommitter Bench <bench@example.com> 1700000000 +0000\ndata 5\nbench\n", branch)
	if from != "" {
		fmt.Fprintf(w, "from %s\n", from)
	}
	err = f(func(path, content string) error {
		fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n", path, len(content))
		_, err := io.WriteString(w, content+"\n")
		return err
	})
	if err == nil {
		err = w.Flush()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
