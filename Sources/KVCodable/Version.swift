/// The version of the package, in the one place where it stands. `make install` reads it from here.
public let libraryVersion = "0.1.0"
