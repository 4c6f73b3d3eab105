// The tests' client of a server. Each line of standard input is a verb and its words, with tabs in between. The answer
// is one line: "ok RESULT" or "CODE MESSAGE".
import FleetDatabase
import Glibc

var session = Session()
while let line = readLine() {
    let words = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    do {
        print("ok \(try session.answer(words[0], Array(words.dropFirst())))")
    } catch let error as FleetError {
        print("\(error.code.rawValue) \(error.description.replacing("\n", with: " "))")
    } catch {
        print("mistake \(error)")
    }
    fflush(nil)
}
