// Package config merges the platform configuration that applies to an assignment and checks it against schemas.
package config
