package yamltext

import (
	"bytes"
	"strings"
	"sync"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
)

// yamlWriters write many small values as Marshal of a YAML library does. Marshal makes a buffer of
// 128 KB for each, which costs more than the writing; here the documents of one long stream are taken
// apart instead.
type yamlWriters struct{ idle sync.Pool }

// yamlWriter writes one value after the other. Only one goroutine may use it at a time.
type yamlWriter struct {
	encoder interface{ Encode(any) error }
	buffer  bytes.Buffer
	// documents counts what was written.
	documents int
}

// The libraries: go-yaml v3 is that of toYaml, v2 that of sigs.k8s.io/yaml.
var (
	yamlV3 = newYAMLWriters(func(b *bytes.Buffer) interface{ Encode(any) error } { return yaml.NewEncoder(b) })
	yamlV2 = newYAMLWriters(func(b *bytes.Buffer) interface{ Encode(any) error } { return yamlv2.NewEncoder(b) })
)

func newYAMLWriters(open func(*bytes.Buffer) interface{ Encode(any) error }) *yamlWriters {
	return &yamlWriters{sync.Pool{New: func() any {
		w := &yamlWriter{}
		w.encoder = open(&w.buffer)
		return w
	}}}
}

const documentStart = "---\n"

// maxDocuments is how many documents make a stream: the libraries keep all events of one in memory.
const maxDocuments = 16

// marshal returns a value as YAML text that ends with a line break.
func (w *yamlWriters) marshal(v any) (string, error) {
	writer := w.idle.Get().(*yamlWriter)
	writer.buffer.Reset()
	if err := writer.encoder.Encode(v); err != nil {
		return "", err // the stream is broken: the writer is not used again
	}
	text := writer.buffer.String()
	if writer.documents > 0 && !strings.HasPrefix(text, documentStart) {
		writer.buffer.Reset()
		fresh := w.idle.New().(*yamlWriter)
		if err := fresh.encoder.Encode(v); err != nil {
			return "", err
		}
		return fresh.buffer.String(), nil
	}
	if writer.documents > 0 {
		text = text[len(documentStart):]
	}
	if writer.documents++; writer.documents < maxDocuments {
		w.idle.Put(writer)
	}
	return text, nil
}
