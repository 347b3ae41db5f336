// Package baserepo changes the commit of a BaseRepo in a file that people edit, and nothing else in it.
//
// In: the bytes of a YAML file and a BaseRepo as package model has found it there. Out: bytes in which one scalar
// differs; comments, order, layout, line endings and other documents stay. Only a scalar on one line is replaced, and the
// result is parsed and compared before it is returned. Anything else is an EditError that says what to write by hand.
package baserepo
