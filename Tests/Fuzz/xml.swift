import PropertyLists

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    if let list = read(data, size, as: .xml) {
        checkRoundTrips(list)
        checkLayout(data, size, list)
    }
    return 0
}
