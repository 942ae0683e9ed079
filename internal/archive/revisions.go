package archive

// Revisions are those from First to Last.
type Revisions struct{ First, Last int64 }
