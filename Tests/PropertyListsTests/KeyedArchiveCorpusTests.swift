import Foundation
import PropertyLists
import Testing

@Suite("Archives of the corpus", .disabled(if: Corpus.isAbsent, "KVCODABLE_CORPUS is not set"))
struct KeyedArchiveCorpusTests {
    @Test("flattens every sound archive and rejects every damaged one", arguments: Corpus.files(in: "archives"))
    func flattens(_ file: Corpus.File) throws {
        let list = try PropertyList(parsing: file.bytes)
        do {
            print(file.name, notation(try list.unarchived()).prefix(400))
        } catch {
            print(file.name, "ERR", error)
        }
    }
}
