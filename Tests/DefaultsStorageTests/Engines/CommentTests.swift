import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// The comments and order of a file that a person wrote, which a store keeps.
@Suite struct CommentTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private let written = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!-- Written by hand. -->
        <plist version="1.0">
        <dict>
          <!-- The window, -->
          <key>window</key>
          <dict>
            <key>width</key> <integer>640</integer> <!-- pixels -->
            <!-- and its height. -->
            <key>height</key> <integer>480</integer>
          </dict>

          <!-- Hosts, the nearest first. -->
          <key>hosts</key>
          <array>
            <!-- here -->
            <string>localhost</string>
            <!-- there -->
            <string>example.com</string>
          </array>
          <!-- The end. -->
        </dict>
        </plist>
        <!-- Behind. -->

        """

    private func replacing(_ changes: [(String, String)], in text: String) -> String {
        changes.reduce(text) { $0.replacing($1.0, with: $1.1) }
    }

    @Test(
        "a change leaves all of a file as it stands but its value", arguments: [DefaultsDurability.immediate, .manual])
    func values(_ durability: DefaultsDurability) throws {
        try folder.write(written, to: "a.plist")
        let store = try folder.open(durability)
        try store.set(list(800), at: ["window", "width"])
        try store.sync()
        #expect(try folder.text(of: "a.plist") == written.replacing("640", with: "800"))
        try store.set(list(640), at: ["window", "width"])
        try store.sync()
        #expect(try folder.text(of: "a.plist") == written)
    }

    // proves: G26
    @Test("new keys go behind, and a removed key takes its comments with it")
    func keys() throws {
        try folder.write(written, to: "a.plist")
        let store = try folder.open(.immediate)
        try store.set(list(true), at: ["another"])
        try store.set(list(1), at: ["window", "depth"])
        #expect(try store.remove(at: ["window", "height"]))
        #expect(try store.remove(at: ["hosts"]))
        let text = try folder.text(of: "a.plist")
        #expect(
            text == """
                <?xml version="1.0" encoding="UTF-8"?>
                <!-- Written by hand. -->
                <plist version="1.0">
                <dict>
                  <!-- The window, -->
                  <key>window</key>
                  <dict>
                    <key>width</key> <integer>640</integer> <!-- pixels -->
                    <key>depth</key>
                    <integer>1</integer>
                  </dict>
                  <key>another</key>
                  <true/>
                  <!-- The end. -->
                </dict>
                </plist>
                <!-- Behind. -->

                """)
        #expect(
            try PropertyListSerialization.propertyList(from: Data(text.utf8), format: nil) as? NSDictionary
                == ["window": ["width": 640, "depth": 1], "another": true])
    }

    @Test("comments that another program wrote meanwhile are kept")
    func others() throws {
        let store = try folder.open(.manual)
        try store.set(list(1), at: ["a"])
        try store.sync()
        try store.set(list(2), at: ["a"])
        try folder.write(
            "<plist><dict><!-- z --><key>z</key><true/><!-- a --><key>a</key><true/></dict></plist>", to: "a.plist")
        try store.sync()
        #expect(
            try folder.text(of: "a.plist")
                == "<plist><dict><!-- z --><key>z</key><true/><!-- a --><key>a</key><integer>2</integer></dict></plist>"
        )
    }

    @Test("a file in the order of its keys, without comments, is written as ever")
    func sorted() throws {
        try folder.write(
            "<plist><dict>  <key>a</key><integer>1</integer><key>b</key><true/></dict></plist>", to: "a.plist")
        try folder.open(.immediate).set(list(2), at: ["a"])
        #expect(
            try Array(folder.text(of: "a.plist").utf8)
                == list(["a": 2, "b": true] as [String: Any]).serialized(as: .xml))
    }

    @Test("the backup that takes a damaged file's place keeps its comments")
    func recovered() throws {
        try folder.write(written, to: "a.plist.bak")
        try folder.write("<plist>", to: "a.plist")
        try folder.age("a.plist.bak", by: 100)
        try folder.age("a.plist")
        let store = try DefaultsStore.open(path: folder.file, options: options { $0.onCorruption = .recover })
        #expect(try folder.text(of: "a.plist") == written)
        try store.set(list(800), at: ["window", "width"])
        try store.close()
        #expect(try folder.text(of: "a.plist") == written.replacing("640", with: "800"))
    }

    @Test("what a text cannot hold in XML is an error, with the key, as without comments")
    func unfit() throws {
        let text = "<plist><dict><!-- a --><key>a</key><string>\u{7}</string></dict></plist>"
        try folder.write(text, to: "a.plist")
        let store = try folder.open(.manual)
        try store.set(list(1), at: ["b"])
        let error = #expect(throws: DefaultsError.self) { try store.sync() }
        #expect(error?.path == ["a"])
        #expect(try folder.text(of: "a.plist") == text)
        try store.set(list("fit"), at: ["a"])
        try store.sync()
        #expect(
            try folder.text(of: "a.plist")
                == text.replacing(
                    "<string>\u{7}</string>", with: "<string>fit</string>\n\t<key>b</key>\n\t<integer>1</integer>"))
    }

    @Test("a file that is written whole has none of the old one's comments")
    func whole() throws {
        try folder.write(written, to: "a.plist")
        try PropertyListFile.write(list(["a": 1]), to: folder.file, as: .xml)
        #expect(try Array(folder.text(of: "a.plist").utf8) == list(["a": 1]).serialized(as: .xml))
    }

    @Test("a store's file that is OpenStep text is refused with the way to convert it, and stays as it is")
    func openStep() throws {
        let text = "{ /* a comment */ a = b; }"
        try folder.write(text, to: "b.plist")
        let path = folder.file("b.plist")
        let error = #expect(throws: DefaultsError.self) { try DefaultsStore.open(path: path) }
        #expect(error?.code == .invalidValue)
        #expect(
            error?.description
                == "The file of a store cannot be OpenStep text; "
                + "kvdefaults convert FILE FILE --to xml makes XML of it (\(path))")
        #expect(try folder.text(of: "b.plist") == text)
    }
}
