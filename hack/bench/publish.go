package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/model/fleettest"
)

// scene is something to be published, by several ways that must all come to the same.
type scene struct {
	name string
	// files is the output as it is to be, and old what the branch holds.
	files, old files
	tasks      []*task
}

// publisher measures publishing to a git server on loopback.
type publisher struct {
	*bench
	options
	size fleettest.Size
	url  string
	self string
}

// measurePublishing returns the rows of a size.
func (b *bench) measurePublishing(ctx context.Context, size fleettest.Size, o options) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	url, stop, err := startServer(ctx, self, b.path("served"))
	if err != nil {
		return nil, err
	}
	defer stop()
	p := &publisher{bench: b, options: o, size: size, url: url + "/gitops.git", self: self}
	if err := p.renderFleet(ctx); err != nil {
		return nil, err
	}
	scenes, err := p.scenes()
	if err != nil {
		return nil, err
	}
	var all []row
	for _, s := range scenes {
		if err := p.measureScene(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		all = append(all, publishRows(size, s)...)
	}
	return all, nil
}

// renderFleet writes the fleet, whose output goes to the server, and that output.
func (p *publisher) renderFleet(ctx context.Context) error {
	p.say("%s: write and render the fleet", p.size.Name)
	if err := os.CopyFS(p.path("fleet"), fleettest.Generate(p.size).Directories()); err != nil {
		return err
	}
	repo := fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: GitOpsRepo\nmetadata:\n  name: dev\nspec:\n  repo: %s\n  branch: dev\n", gitOpsRepo)
	if err := os.WriteFile(filepath.Join(p.controlPlane(), fleettest.Environment, "gitops-repo.yaml"), []byte(repo), 0o600); err != nil {
		return err
	}
	if p.only == syntheticOutput {
		return nil
	}
	_, err := measure(ctx, p.path("kalypso"), append([]string{"render", "--output-dir", p.path("out")}, p.flags()...)...)
	return err
}

func (p *publisher) controlPlane() string { return filepath.Join(p.path("fleet"), "control-plane") }

// flags are those with which kalypso reads the fleet and publishes it.
func (p *publisher) flags() []string {
	return append([]string{"--replace", gitOpsRepo + "=" + p.url}, fleettest.Flags(p.path("fleet"))...)
}

func (p *publisher) scenes() ([]*scene, error) {
	var all []*scene
	for _, kind := range []struct {
		name  string
		files files
		ten   []*task
		first []*task
	}{
		{
			syntheticOutput, synthetic(p.size),
			[]*task{p.child(childTree), p.child(childChange), p.child(childCompare)},
			[]*task{p.child(childTree), p.child(childCompare)},
		},
		{fleetOutput, rendered(p.path("out")), []*task{p.render()}, []*task{p.render()}},
	} {
		if p.only != "" && p.only != kind.name {
			continue
		}
		chosen, err := kind.files.changing()
		if err != nil {
			return nil, err
		}
		ten := &scene{name: kind.name + ", 10 changes", files: kind.files.only(chosen), old: kind.files.older(chosen)}
		ten.tasks = append([]*task{p.git(ofGit+"clone, index, push", gitIndex), p.git(ofGit+"clone, fast-import, push", gitImport)}, kind.ten...)
		first := &scene{name: kind.name + ", all new", files: kind.files, old: none}
		first.tasks = append([]*task{p.git(ofGit+"fast-import, push", gitFirst)}, kind.first...)
		all = append(all, ten, first)
	}
	return all, nil
}

// git is a script.
func (p *publisher) git(name, script string) *task {
	return &task{name: name, command: []string{"sh", "-euc", gitHermetic + script, "sh", p.url, p.path("work"), p.path("scene")}}
}

func (p *publisher) child(way string) *task {
	names := map[string]string{childTree: "make the output", childChange: "publish what changed", childCompare: "make, compare, publish"}
	return &task{name: names[way], command: []string{p.self, childFlag, "-way", way, "-size", p.size.Name, "-control-plane", p.controlPlane(), "-url", p.url, "-scene", p.path("scene")}}
}

func (p *publisher) render() *task {
	return &task{name: renderPublishTask, command: append([]string{p.path("kalypso"), "render"}, p.flags()...)}
}

// gitOpsRepo stands for the URL of the server: only what comes from the command line may be http.
const gitOpsRepo = "https://git.example.com/acme/gitops"

// The kinds of output that are published.
const (
	syntheticOutput = "synthetic"
	fleetOutput     = "fleet"
)

const (
	renderPublishTask = "kalypso render"
	// childFlag comes first where the program runs itself.
	childFlag = "-child"
	ofGit     = "git: "
	// namesFile lists where the files go that change.
	namesFile = "names"
)

// measureScene lets the tasks take turns, after one round to warm up.
func (p *publisher) measureScene(ctx context.Context, s *scene) error {
	if err := p.prepare(s); err != nil {
		return err
	}
	tree := ""
	for round := range p.rounds + 1 {
		p.say("%s: %s: round %d of %d", p.size.Name, s.name, round, p.rounds)
		for _, t := range s.tasks {
			c, made, err := p.publish(ctx, t)
			if err != nil {
				return err
			}
			p.say("  %s: %s s, %s MB", t.name, seconds(c.wall), megabytes(c.peak))
			if made != "" && tree != "" && made != tree {
				return fmt.Errorf("%s publishes the tree %s, not %s", t.name, made, tree)
			}
			if made != "" {
				tree = made
			}
			if round > 0 {
				t.costs = append(t.costs, c)
			}
		}
	}
	return nil
}

// prepare writes what the scripts read, and the repository as it is before.
func (p *publisher) prepare(s *scene) error {
	dir := p.path("scene")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := p.writeChanges(s, dir); err != nil {
		return err
	}
	if err := s.files.writeStream(filepath.Join(dir, "all.stream"), "deployment/dev", ""); err != nil {
		return err
	}
	if err := s.files.writeStream(filepath.Join(dir, "ten.stream"), "deployment/dev", "refs/remotes/origin/dev^0"); err != nil {
		return err
	}
	base := filepath.Join(dir, "base.git")
	if _, err := gitopstest.Bare(base); err != nil {
		return err
	}
	stream := filepath.Join(dir, "base.stream")
	if err := s.old.writeStream(stream, "dev", ""); err != nil {
		return err
	}
	_, err := measure(context.Background(), "sh", "-euc", `git -C "$1" fast-import --quiet <"$2"`, "sh", base, stream)
	return err
}

// writeChanges writes the files that change, with a list of them and one of where they go.
func (p *publisher) writeChanges(s *scene, dir string) error {
	var sources, names strings.Builder
	n := 0
	err := s.files(func(path, content string) error {
		if n++; n > changes {
			return nil
		}
		source := filepath.Join(dir, strconv.Itoa(n))
		fmt.Fprintln(&sources, source)
		fmt.Fprintln(&names, path)
		return os.WriteFile(source, []byte(content), 0o600)
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "sources"), []byte(sources.String()), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, namesFile), []byte(names.String()), 0o600)
	}
	return err
}

// publish runs a task against the repository as it was before, and returns the tree that is then on
// the deployment branch; empty if there is none.
func (p *publisher) publish(ctx context.Context, t *task) (cost, string, error) {
	served := filepath.Join(p.path("served"), "gitops.git")
	for _, dir := range []string{served, p.path("work")} {
		if err := os.RemoveAll(dir); err != nil {
			return cost{}, "", err
		}
	}
	if err := os.MkdirAll(p.path("work"), 0o755); err != nil {
		return cost{}, "", err
	}
	if err := os.CopyFS(served, os.DirFS(filepath.Join(p.path("scene"), "base.git"))); err != nil {
		return cost{}, "", err
	}
	settle()
	c, err := measure(ctx, t.command[0], t.command[1:]...)
	if err != nil {
		return cost{}, "", err
	}
	tree, err := gitopstest.Git(served, "rev-parse", "--verify", "--quiet", "deployment/dev^{tree}")
	if err != nil {
		tree = "" // it makes none
	}
	return c, strings.TrimSpace(tree), nil
}

// removePublished frees space for the next size. Files that cannot be removed are reported at the end.
func (b *bench) removePublished() {
	for _, name := range []string{"fleet", "out", "scene", "served", "work"} {
		_ = os.RemoveAll(b.path(name))
	}
}

// publishRows compares each task with the fastest way that git has.
func publishRows(size fleettest.Size, s *scene) []row {
	var best cost
	for _, t := range s.tasks {
		if c := median(t.costs); strings.HasPrefix(t.name, ofGit) && (best.wall == 0 || c.wall < best.wall) {
			best = c
		}
	}
	var all []row
	for _, t := range s.tasks {
		r := newRow(size, t)
		r.fleet = size.Name + " " + s.name
		r.compared = compare(r.cost, best, "git")
		all = append(all, r)
	}
	return all
}
