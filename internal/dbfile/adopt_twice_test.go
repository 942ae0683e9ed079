package dbfile

// AdoptStep is the part of Adopt that a second process runs which has seen the file before the first one was done.
func AdoptStep(o Options) error { return adopt(o, o.DataDir+suffix) }
