import KeyedArchives
import PropertyLists

@c(LLVMFuzzerTestOneInput)
public func fuzz(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let list = read(data, size, as: nil) else { return 0 }
    _ = list.isKeyedArchive
    if let tree = try? list.unarchived() { checkRoundTrips(tree) }
    _ = try? list.unarchived(options: KeyedArchiveOptions(classNameKey: "class"))
    return 0
}
