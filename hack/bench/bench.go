package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/kalypso-gitops/kalypso/pkg/model/fleettest"
)

const (
	// unusedIn names the size that is compiled once more with policies and configs that match nothing.
	unusedIn = "10k"
	unused   = 1000
	// usualRounds are measured of each size but the largest, of which one has to do.
	usualRounds = 3
)

// bench measures one fleet after the other.
type bench struct {
	dir string // holds all that is written; the caller removes it
	log io.Writer
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.log, format+"\n", args...) }

// build makes the binary from the module around the working folder, as `make build` does.
func (b *bench) build(ctx context.Context) error {
	b.say("build kalypso")
	_, err := measure(ctx, "go", "build", "-trimpath", "-o", b.path("kalypso"), "./cmd/kalypso")
	return err
}

// A task is a command that is run several times.
type task struct {
	name    string
	command []string
	// intoFolder says that the command wants the output folder to be there, and empty.
	intoFolder bool
	costs      []cost
}

func (b *bench) tasks() []*task {
	kalypso := func(args ...string) []string {
		return append(append([]string{b.path("kalypso")}, args...), fleettest.Flags(b.path("fleet"))...)
	}
	return []*task{
		{name: validateTask, command: kalypso("validate")},
		{name: renderTask, command: kalypso("render", "--output-dir", b.path("out"))},
		{name: tarTask, command: []string{"tar", "-xf", b.path("out.tar"), "-C", b.path("out")}, intoFolder: true},
	}
}

// measure returns the rows of a size.
func (b *bench) measure(ctx context.Context, size fleettest.Size) ([]row, error) {
	tasks := b.tasks()
	if err := b.measureFleet(ctx, size, tasks); err != nil {
		return nil, err
	}
	all := rows(size, tasks)
	if size.Name != unusedIn {
		return all, nil
	}
	size.Unused = unused
	more := b.tasks()[:2] // what is unpacked is the same
	if err := b.measureFleet(ctx, size, more); err != nil {
		return nil, err
	}
	return append(all, rowsBeside(size, more, tasks)...), nil
}

// measureFleet goes through the tasks once to warm up and to make what tar unpacks. Then they take
// turns, so that what else the machine does meets all of them alike.
func (b *bench) measureFleet(ctx context.Context, size fleettest.Size, tasks []*task) error {
	defer b.removeFleet()
	b.say("%s: write the fleet", describe(size))
	if err := os.CopyFS(b.path("fleet"), fleettest.Generate(size).Directories()); err != nil {
		return err
	}
	b.say("%s: warm up", describe(size))
	for _, t := range tasks {
		if err := b.run(ctx, t); err != nil {
			return err
		}
		if t.name == renderTask {
			if _, err := measure(ctx, "tar", "-cf", b.path("out.tar"), "-C", b.path("out"), "."); err != nil {
				return err
			}
		}
		t.costs = nil
	}
	for i := range rounds(size) {
		b.say("%s: round %d of %d", describe(size), i+1, rounds(size))
		for _, t := range tasks {
			if err := b.run(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func rounds(size fleettest.Size) int {
	all := fleettest.Sizes()
	if size.Name == all[len(all)-1].Name {
		return 1
	}
	return usualRounds
}

// run starts from an output folder that is not there, or empty, and from a machine that has written
// what came before.
func (b *bench) run(ctx context.Context, t *task) error {
	if err := os.RemoveAll(b.path("out")); err != nil {
		return err
	}
	if t.intoFolder {
		if err := os.Mkdir(b.path("out"), 0o755); err != nil {
			return err
		}
	}
	settle()
	c, err := measure(ctx, t.command[0], t.command[1:]...)
	t.costs = append(t.costs, c)
	return err
}

// removeFleet frees space for the next one. Files that cannot be removed are reported at the end.
func (b *bench) removeFleet() {
	for _, name := range []string{"fleet", "out", "out.tar"} {
		_ = os.RemoveAll(b.path(name))
	}
}
