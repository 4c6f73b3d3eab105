internal import PropertyLists

/// The line that a commit leaves in the lock file before it exchanges two files: which file is which, should the
/// process be killed in the midst of it.
///
/// Written without fsync: a killed process's writes stay. After a power failure it may be an older one, or nothing;
/// then it names a file that there is not, and a temporary file that is left is removed like any other.
struct ExchangeNote: Equatable {
    /// The name of the temporary file, without the parts that all of them have.
    let name: String
    /// The file that we have made.
    let new: FileStamp
    /// The file that it replaces.
    let expected: FileStamp

    init(name: String, new: FileStamp, expected: FileStamp) {
        (self.name, self.new, self.expected) = (name, new, expected)
    }

    /// - Parameter bytes: the beginning of a lock file. nil where no note is in it.
    init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let words = String(decoding: bytes[..<end], as: UTF8.self).split(separator: " ")
        let numbers = words.dropFirst().compactMap { Int($0) }
        guard words.count == 9, numbers.count == 8, isRandomName(words[0]) else { return nil }
        name = String(words[0])
        new = FileStamp(numbers[0..<4])
        expected = FileStamp(numbers[4..<8])
    }

    var bytes: [UInt8] {
        let numbers = (new.numbers + expected.numbers).map { " \($0)" }
        return Array((name + numbers.joined() + "\n").utf8)
    }
}

extension FileStamp {
    /// All but the time at which the file was renamed.
    fileprivate var numbers: [Int] { [Int(bitPattern: device), Int(bitPattern: inode), size, Int(modified)] }

    fileprivate init(_ numbers: ArraySlice<Int>) {
        let first = numbers.startIndex
        device = UInt(bitPattern: numbers[first])
        inode = UInt(bitPattern: numbers[first + 1])
        size = numbers[first + 2]
        modified = Int64(numbers[first + 3])
        changed = 0
    }
}
