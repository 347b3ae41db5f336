package render

import "os"

// thorough reports whether long tables are to be tried row by row, as make ci-full does.
func thorough() bool { return os.Getenv("KALYPSO_WHOLE_MATRIX") != "" }
