// Command bench measures kalypso as it is used: whole runs of the binary over large generated fleets, beside the tar
// that would only write the same files. With -publish it measures publishing instead, beside git. It prints a table in
// Markdown.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/kalypso-gitops/kalypso/pkg/model/fleettest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	sizes []fleettest.Size
	// dir is where the temporary files are; empty for the system's own place.
	dir string
	// publish measures publishing, rounds times.
	publish bool
	rounds  int
	// folders is where the first of the sizes is written to, and nothing measured; empty to measure.
	folders string
	// only names a kind of output that is published; empty for all.
	only string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var all []string
	for _, size := range fleettest.Sizes() {
		all = append(all, size.Name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	names := flags.String("sizes", strings.Join(all, ","), "the `fleets` to compile, by number of assignments")
	dir := flags.String("dir", "", "the `directory` for temporary files, on the file system to measure (default: the system's)")
	publish := flags.Bool("publish", false, "measure publishing to a git server on loopback")
	rounds := flags.Int("rounds", usualRounds, "how `often` each way of publishing is measured")
	folders := flags.String("folders", "", "write the first of the sizes to this `directory`, and measure nothing")
	only := flags.String("only", "", "publish just `what`: "+syntheticOutput+" or "+fleetOutput)
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if *only != "" && *only != syntheticOutput && *only != fleetOutput {
		return options{}, fmt.Errorf("-only %q: there are %s and %s", *only, syntheticOutput, fleetOutput)
	}
	if *rounds < 1 {
		return options{}, fmt.Errorf("-rounds %d: at least one is needed", *rounds)
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o := options{dir: *dir, publish: *publish, rounds: *rounds, only: *only, folders: *folders}
	for name := range strings.SplitSeq(*names, ",") {
		size, err := fleettest.Named(name)
		if err != nil {
			return options{}, err
		}
		o.sizes = append(o.sizes, size)
	}
	return o, nil
}

// run measures what args ask for, says on stderr what it is doing, and prints the table to stdout.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	if len(args) > 0 && args[0] == childFlag {
		c, err := parseChild(args[1:])
		if err != nil {
			return err
		}
		return c.run(ctx)
	}
	options, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if options.folders != "" {
		return os.CopyFS(options.folders, fleettest.Generate(options.sizes[0]).Directories())
	}
	dir, err := os.MkdirTemp(options.dir, "kalypso-bench-")
	if err != nil {
		return err
	}
	defer func() {
		if removed := os.RemoveAll(dir); err == nil {
			err = removed
		}
	}()
	b := &bench{dir: dir, log: stderr}
	if err := b.build(ctx); err != nil {
		return err
	}
	var rows []row
	for _, size := range options.sizes {
		more, err := b.rows(ctx, size, options)
		if err != nil {
			return fmt.Errorf("%s: %w", size.Name, err)
		}
		rows = append(rows, more...)
	}
	return printTable(stdout, rows)
}

// rows measures what the options ask for.
func (b *bench) rows(ctx context.Context, size fleettest.Size, o options) ([]row, error) {
	if o.publish {
		defer b.removePublished()
		return b.measurePublishing(ctx, size, o)
	}
	return b.measure(ctx, size)
}
