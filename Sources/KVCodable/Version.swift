/// The version of the package. It is defined here alone, and `make install` reads it from this file.
public let libraryVersion = "0.2.0"
