// Package htmlreport generates the HTML report of a fleet: a self-contained file with the matrix of deployment targets and
// cluster types of each environment, the policies that schedule them, configuration and manifests. The same input gives the
// same bytes.
//
// The file contains an index of all environments as JSON, and the contents of each cluster type as compressed JSON, which the
// browser unpacks on demand, so that a fleet of 300 cluster types and 1,500 targets opens at once. Values of the model are
// data in the file; its Content-Security-Policy allows only the embedded script.
package htmlreport

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// Report is the input of a report.
type Report struct {
	// Version is the version of kalypso, and ControlPlane the repository that was read.
	Version, ControlPlane string
	// Environments are in promotion order.
	Environments []Environment
}

// Environment is a compiled environment.
type Environment struct {
	Name string
	// Fleet is nil if it could not be read; then the report shows only the diagnostics.
	Fleet       *model.Fleet
	Assignments []schedule.Assignment
	// Tree is nil if it was not rendered; then the report has no manifests.
	Tree  *render.Tree
	Diags diag.List
	// Sources are the branches that were compiled.
	Sources []Source
	// Date is the date of the newest commit of the sources; zero if unknown.
	Date time.Time
}

// Source is a branch with the commit that was compiled; the commit of a plain directory is empty.
type Source struct {
	Name   string `json:"name"`
	Commit string `json:"commit,omitempty"`
}

//go:embed page.html
var page string

//go:embed page.css
var style string

//go:embed page.js
var script string

// Write writes a report. It returns the error of w or of ctx.
func Write(ctx context.Context, w io.Writer, r Report) error {
	environments := r.Environments
	manifests := sizeOf(environments) <= maxManifests
	index := index{
		Version: r.Version, ControlPlane: r.ControlPlane, Manifests: manifests,
		Environments: make([]environmentIndex, len(environments)), Pairs: pairsOf(environments),
	}
	var blocks []block
	for i, e := range environments {
		index.Environments[i] = newEnvironmentIndex(e)
		more, err := pack(ctx, i, e, manifests)
		if err != nil {
			return err
		}
		blocks = append(blocks, more...)
	}
	data, err := json.Marshal(index) // escapes < and >, which could end the script
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	head, tail, _ := strings.Cut(page, "<!-- data -->")
	head = strings.NewReplacer("STYLE-HASH", hashOf(style), "SCRIPT-HASH", hashOf(script), "/* style */", style).Replace(head)
	fmt.Fprintf(out, "%s<script type=\"application/json\" id=\"index\">%s</script>\n", head, data)
	for _, b := range blocks {
		fmt.Fprintf(out, "<script type=\"text/plain\" id=\"%s\">%s</script>\n", b.id, b.packed)
	}
	fmt.Fprint(out, strings.Replace(tail, "/* script */", script, 1))
	return out.Flush()
}

// sizeOf returns the size of the manifests of all environments in bytes; it stops above maxManifests.
func sizeOf(environments []Environment) int {
	size := 0
	for _, e := range environments {
		if e.Tree == nil {
			continue
		}
		var content []byte
		for _, f := range e.Tree.Files {
			content = f.Content.Append(content[:0])
			if size += len(content); size > maxManifests {
				return size
			}
		}
	}
	return size
}

// hashOf returns the source expression of a Content-Security-Policy for an inline script or style.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// block is compressed JSON that the page unpacks on demand.
type block struct{ id, packed string }

// pack compresses the contents of each cluster type and the table of config values.
func pack(ctx context.Context, number int, e Environment, manifests bool) ([]block, error) {
	if e.Fleet == nil {
		return nil, nil
	}
	contents := newContents(e, manifests)
	blocks := make([]block, len(contents.clusterTypes)+1)
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	add := func(i int, id string, content any) error {
		data, err := json.Marshal(content)
		if err != nil {
			return err
		}
		work.Go(func() error {
			packed, err := compress(data)
			blocks[i] = block{id, packed}
			return err
		})
		return nil
	}
	for i, on := range contents.clusterTypes { // in order, because it fills the table
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := add(i, fmt.Sprintf("on-%d-%d", number, i), contents.of(on)); err != nil {
			return nil, err
		}
	}
	if err := add(len(blocks)-1, fmt.Sprintf("table-%d", number), contents.table); err != nil {
		return nil, err
	}
	return blocks, work.Wait()
}

func compress(data []byte) (string, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		return "", err
	}
	err := z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes()), err
}
