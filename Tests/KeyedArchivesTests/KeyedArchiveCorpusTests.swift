import Foundation
import KeyedArchives
import PropertyLists
import TestSupport
import Testing

@Suite("Archives of the corpus", .disabled(if: Corpus.isAbsent, "KVCODABLE_CORPUS is not set"))
struct KeyedArchiveCorpusTests {
    /// The tree that each archive flattens to, or why it does not; `…` stands for parts that are not compared.
    static let expected: [String: String] = [
        "bpylist2/circular_archive.plist": "Expected a tree at recursive, found object 1 inside itself",
        "bpylist2/complex_archive.plist": """
        {"active": true, "categories": ["banana", "apple"], "count": 42, \
        "metadata": {"fruit": "kiwi", "veg": "asparagus"}, "title": "yo"}
        """,
        "bpylist2/data_archive.plist": #"{"stamp": <>, "title": "yo"}"#,
        "bpylist2/date_archive.plist": #"{"stamp": date 509523358.68409699, "title": "hello"}"#,
        "bpylist2/empty_archive.plist": "{}",
        "bpylist2/invalid_type_archive.plist": "Expected NSKeyedArchiver as $archiver, found \"NSArchiver\"",
        "bpylist2/invalid_uid_archive.plist": "Expected one of 3 objects, found UID 10",
        "bpylist2/invalid_version_archive.plist": "Expected 100000 as $version, found 10000",
        "bpylist2/missing_uid_archive.plist": """
        {"$classy": {"$classes": ["crap.Foo", "NSCoder", "NSObject"], "$classname": "crap.Foo"}, "title": "yo"}
        """,
        "bpylist2/no_class_meta_archive.plist": "Expected a class with its name as object 3, found none",
        "bpylist2/no_class_name_archive.plist": "Expected a class with its name as object 3, found none",
        "bpylist2/no_objects_archive.plist": "Expected an array as $objects, found nothing",
        // A $top with another name than root is legal.
        "bpylist2/no_root_archive.plist": #"{"rooty": {"title": "yo"}}"#,
        "bpylist2/no_top_archive.plist": "Expected a dictionary as $top, found nothing",
        "bpylist2/nsmutabledata_archive.plist": "<68656c6c6f>",
        "bpylist2/null_archive.plist": #"{"title": "yo"}"#,
        // Its second object ends with nil: no cycle, whatever its name says.
        "bpylist2/recursive_archive.plist": #"{"recursive": {"title": "yo"}, "title": "hello"}"#,
        "bpylist2/simple_archive.plist": #"{"active": true, "count": 42, "title": "yo"}"#,
        "corelibs-foundation/NSCountedSet-NumbersAppearingOnce.archive": "[3, 2, 5, 1, 4]",
        "corelibs-foundation/NSCountedSet-Empty.archive": "[]",
        "corelibs-foundation/NSOrderedSet-Numbers.archive": "[1, 2, 3, 4, 5]",
        "corelibs-foundation/NSSet-Numbers.archive": "[3, 2, 5, 1, 4]",
        "corelibs-foundation/NSMutableSet-Empty.archive": "[]",
        "corelibs-foundation/NSMutableOrderedSet-Empty.archive": "[]",
        "corelibs-foundation/NSIndexSet-OneRange.archive": #"{"NSLength": 50, "NSLocation": 0, "NSRangeCount": 1}"#,
        "corelibs-foundation/NSKeyedUnarchiver-ArrayTest.plist": #"["baa", "baa", "black", "sheep"]"#,
        "corelibs-foundation/NSKeyedUnarchiver-ComplexTest.plist": """
        {"array": [null, "hello", 34545, {"key": "val"}], "string": "hello", \
        "url": "https://www.swift.org/index.xml", "uuid": "71DC068E-3420-45FF-919E-3A267D55EC22"}
        """,
        "corelibs-foundation/NSKeyedUnarchiver-OrderedSetTest.plist": #"["valgeir", "nico", "puzzle"]"#,
        "corelibs-foundation/NSKeyedUnarchiver-URLTest.plist": #""https://www.example.com/foo.xml""#,
        "corelibs-foundation/NSKeyedUnarchiver-UUIDTest.plist": #""0AD863BA-7584-40CF-8896-BD87B3280C34""#,
        "corelibs-foundation/NSMeasurement-Zero.archive": #"{"NS.unit": {"NS.symbol": ""}, "NS.value": real 0}"#,
    ]

    @Test("flattens every sound archive and rejects every damaged one", arguments: Corpus.files(in: "archives"))
    func flattens(_ file: Corpus.File) throws {
        let list = try PropertyList(parsing: file.bytes)
        let expected = Self.expected[String(file.name.dropFirst("archives/".count))]
        do throws(PropertyListError) {
            let tree = try list.unarchived()
            if let expected { #expect(notation(tree) == expected) }
            #expect(tree.kind != .uid && !notation(tree).contains("uid "))
        } catch {
            #expect(error.description == expected)
        }
    }
}
