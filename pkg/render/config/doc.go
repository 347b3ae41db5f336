// Package config lays the platform configuration that applies to an assignment over each other and checks it against
// schemas.
package config
