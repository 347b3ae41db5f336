package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/model/fleettest"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// The ways in which the program runs itself, so that what publishing takes can be told from what
// compiling does.
const (
	// childTree only makes the output.
	childTree = "tree"
	// childChange publishes what it knows to have changed, childCompare finds that out.
	childChange  = "change"
	childCompare = "compare"
	// childServe is the git server.
	childServe = "serve"
)

// child is one such run.
type child struct {
	way               string
	size              fleettest.Size
	controlPlane, url string
	// scene is the folder of what is published, root that of what is served.
	scene, root string
}

func parseChild(args []string) (child, error) {
	flags := flag.NewFlagSet("child", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	size := flags.String("size", "", "")
	c := child{}
	flags.StringVar(&c.way, "way", "", "")
	flags.StringVar(&c.root, "root", "", "")
	flags.StringVar(&c.scene, "scene", "", "")
	flags.StringVar(&c.url, "url", "", "")
	flags.StringVar(&c.controlPlane, "control-plane", "", "")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if c.way == childServe {
		return c, nil
	}
	var err error
	c.size, err = fleettest.Named(*size)
	return c, err
}

func (c child) run(ctx context.Context) error {
	switch c.way {
	case childTree:
		_, err := c.tree()
		return err
	case childServe:
		return serve(c.root, os.Stdin, os.Stdout)
	}
	reader, err := remote.NewReader(remote.Options{Replace: []string{gitOpsRepo + "=" + c.url}})
	if err != nil {
		return err
	}
	defer reader.Close()
	destination, err := c.destination(ctx, reader)
	if err != nil {
		return err
	}
	output := gitops.ReadOutput(ctx, reader, destination.Repo)
	if output.Tree == nil {
		return fmt.Errorf("the GitOps branch cannot be read: %v", output.Diags)
	}
	tree, change, err := c.change(ctx, output)
	if err != nil {
		return err
	}
	publication := gitops.Publication{
		Destination: destination, Output: output, Tree: tree, Change: change,
		Report:         message.Report{Environment: fleettest.Environment, Change: change, Now: message.Provenance{Version: "bench", Environment: fleettest.Environment}},
		PublishOptions: gitops.PublishOptions{Author: gitobject.Identity{Name: "Bench", Email: "bench@example.com"}},
	}
	published, err := publication.Publish(ctx)
	if err == nil && !published.Pushed {
		err = errors.New("nothing was pushed")
	}
	return err
}

// tree is the output, as rendering gives it.
func (c child) tree() (*render.Tree, error) {
	tree := &render.Tree{Files: make([]render.File, 0, 3*c.size.Assignments()+c.size.ClusterTypes)}
	var assignment schedule.Assignment // which one it is does not matter
	err := synthetic(c.size)(func(name, text string) error {
		file := render.File{Path: name, Content: content.New(text), Assignment: &assignment}
		if path.Base(name) == render.ReadmeFile {
			file.Assignment = nil
		}
		tree.Files = append(tree.Files, file)
		return nil
	})
	slices.SortFunc(tree.Files, byPath)
	return tree, err
}

func (c child) destination(ctx context.Context, reader *remote.Reader) (*gitops.Destination, error) {
	loader := source.NewLoader(reader, source.ControlPlane{Repo: c.controlPlane, Options: model.DefaultOptions()})
	environments, diags := loader.Environments(ctx)
	if len(environments) != 1 {
		return nil, fmt.Errorf("%d environments: %v", len(environments), diags)
	}
	destinations := gitops.OpenDestinations(ctx, loader, environments[0], "")
	if len(destinations) != 1 || len(destinations[0].Diags) > 0 {
		return nil, fmt.Errorf("the destinations cannot be opened: %v", destinations)
	}
	return destinations[0], nil
}

// change is what is to be published: the output, or as much of it as is needed, and what is new in it.
func (c child) change(ctx context.Context, output gitops.Output) (*render.Tree, *change.Change, error) {
	if c.way == childChange {
		return c.known()
	}
	tree, err := c.tree()
	if err != nil {
		return nil, nil, err
	}
	change, err := change.Compare(ctx, output.Tree, tree)
	return tree, change, err
}

// known reads what changes from the files that the scripts of git use.
func (c child) known() (*render.Tree, *change.Change, error) {
	names, err := os.ReadFile(filepath.Join(c.scene, namesFile))
	if err != nil {
		return nil, nil, err
	}
	tree, diff := &render.Tree{}, &change.Change{}
	for i, name := range strings.Fields(string(names)) {
		data, err := os.ReadFile(filepath.Join(c.scene, strconv.Itoa(i+1)))
		if err != nil {
			return nil, nil, err
		}
		text := content.New(string(data))
		diff.Files = append(diff.Files, change.FileChange{
			Path: name, Action: change.Changed, Old: []byte(before(string(data))), New: text,
		})
		folder := path.Dir(name)
		tree.Files = append(tree.Files,
			render.File{Path: path.Join(path.Dir(folder), render.ReadmeFile), Content: content.New(render.Readme)},
			render.File{Path: path.Join(folder, render.NamespaceFile)}, render.File{Path: name, Content: text})
	}
	slices.SortFunc(diff.Files, func(a, b change.FileChange) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(tree.Files, byPath)
	tree.Files = slices.CompactFunc(tree.Files, func(a, b render.File) bool { return a.Path == b.Path })
	return tree, diff, nil
}

func byPath(a, b render.File) int { return cmp.Compare(a.Path, b.Path) }
