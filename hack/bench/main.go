// Command bench measures kalypso as it is used: whole runs of the binary over large generated fleets, beside the tar
// that would only write the same files. It prints a table in Markdown.
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
}

func parse(args []string, stderr io.Writer) (options, error) {
	var all []string
	for _, size := range fleettest.Sizes() {
		all = append(all, size.Name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	names := flags.String("sizes", strings.Join(all, ","), "the `fleets` to compile, by number of assignments")
	dir := flags.String("dir", "", "the `folder` for temporary files, on the file system to measure (default: the system's)")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o := options{dir: *dir}
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
	options, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
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
		more, err := b.measure(ctx, size)
		if err != nil {
			return fmt.Errorf("%s: %w", size.Name, err)
		}
		rows = append(rows, more...)
	}
	return printTable(stdout, rows)
}
