internal import Glibc
import KVCodable

/// An end of the program that is told in one line: `kvdefaults: com.example.app: Expected 1...16384 at width, found 0`.
package struct Failure: Error {
    /// The domain or the file; nil where the error is about none.
    package var subject: String?
    /// Nil for a status alone.
    package var message: String?
    package var status: Int32 = 2

    package init(_ message: String, of subject: String? = nil) {
        self.message = message
        self.subject = subject
    }

    /// There is nothing at the path, which a script sees by the status; people read why.
    package static func absent(_ message: String, of subject: String) -> Failure {
        var failure = Failure(message, of: subject)
        failure.status = 1
        return failure
    }

    package static let differing: Failure = {
        var failure = Failure("")
        (failure.message, failure.status) = (nil, 1)
        return failure
    }()

    /// A status of 2 behind lines that were written already.
    package static let told: Failure = {
        var failure = Failure("")
        failure.message = nil
        return failure
    }()

    package func report() {
        guard let message else { return }
        writeError("kvdefaults: " + (subject.map { "\($0): " } ?? "") + message)
    }
}

/// The text of an error of the library: in the words of the type language, as the domain's user knows it.
package func words(of error: any Error) -> String {
    if let error = error as? TypeError { return error.inTypeLanguage.message(firstIndex: 0) }
    if let error = error as? DefaultsError, let cause = error.cause as? TypeError { return words(of: cause) }
    return "\(error)"
}

/// Runs `body`; an error in it that is about no other is told for the domain or file.
package func about<Result>(_ subject: String, _ body: () throws -> Result) throws -> Result {
    do {
        return try body()
    } catch var failure as Failure {
        failure.subject = failure.subject ?? subject
        throw failure
    } catch {
        throw Failure(words(of: error), of: subject)
    }
}

package func writeError(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

/// Writes behind what was printed before.
package func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8), to: descriptor) }

package func write(_ bytes: [UInt8], to descriptor: Int32) {
    fflush(nil)
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
    }
}
