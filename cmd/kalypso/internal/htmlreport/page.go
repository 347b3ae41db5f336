// Package htmlreport makes the report of a fleet: one HTML file that needs nothing else, with the matrix of deployment targets
// and cluster types of each environment, why each is where it is, its configuration and its manifests. The same input gives
// the same bytes.
//
// The file holds an index of all environments as JSON, and for each cluster type what is on it as compressed JSON, which the
// browser unpacks when somebody looks at it: so a fleet of 300 cluster types and 1,500 targets opens at once. Everything that
// the model says is data in it; a policy in the head lets the browser run nothing but the script that is embedded here.
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

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// Environment is an environment as it was compiled.
type Environment struct {
	Name string
	// Fleet is nil if it could not be read; then only the diagnostics are shown.
	Fleet       *model.Fleet
	Assignments []schedule.Assignment
	// Tree is nil if it was not rendered; then no manifests are shown.
	Tree  *render.Tree
	Diags diag.List
}

//go:embed page.html
var page string

//go:embed page.css
var style string

//go:embed page.js
var script string

// Write writes the page. version is that of kalypso. The error is that of w, or of ctx.
func Write(ctx context.Context, w io.Writer, version string, environments []Environment) error {
	manifests := sizeOf(environments) <= maxManifests
	index := index{Version: version, Manifests: manifests, Environments: make([]environmentIndex, len(environments)), Pairs: pairsOf(environments)}
	var blocks []block
	for i, e := range environments {
		index.Environments[i] = newEnvironmentIndex(e)
		more, err := pack(ctx, i, e, manifests)
		if err != nil {
			return err
		}
		blocks = append(blocks, more...)
	}
	data, err := json.Marshal(index) // which escapes what could end a script
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

// sizeOf is how many bytes the manifests of all environments have; it stops counting when they are too many.
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

// hashOf is how a Content-Security-Policy names an inline script or style.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// block is compressed JSON that the page unpacks when it is needed.
type block struct{ id, packed string }

// pack compresses what is on each cluster type, and the table of the configuration.
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
	for i, on := range contents.clusterTypes { // in order, so that the table is always the same
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
