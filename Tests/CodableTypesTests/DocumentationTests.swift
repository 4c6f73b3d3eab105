import CodableTypes
import PropertyLists
import TestSupport
import Testing

/// The words for people: doc comments, deprecations, secrets.
@Suite("Words for people") struct DocumentationTests {
    private let text = """
        /// The settings of a player.
        /// More of them.
        struct Settings @secret {
            // Plain comments say nothing.
            //// Nor do four slashes.
            volume: Int(0...10) = 7
            /// How wide. At most the screen.
            ///
            /// In pixels.
            width: Int @key(w) @deprecated("use \\"size\\"") = 640
            /// Where to log in.

            login: String? @secret
            theme: Theme = dark  /// behind a field, so the next one's
            shape: Shape?
        }
        /// Light or dark.
        enum Theme: String @deprecated("old") {
            /// For the day.
            light,
            dark = "DARK" @deprecated("use light")
        }
        enum Shape {
            /// Round!
            circle(radius: Double) @secret, square
        }
        """

    private func types() throws -> [CodableType] { try TypeRegistry().declare(text) }

    @Test("belong to the struct, field, enum or case behind them")
    func belong() throws {
        let types = try types()
        #expect(types[0].words == TypeWords("The settings of a player.\nMore of them.", isSecret: true))
        let members = types[0].members
        #expect(members.map(\.key) == ["volume", "w", "login", "theme", "shape"])
        #expect(members[0].words == TypeWords())
        #expect(
            members[1].words
                == TypeWords("How wide. At most the screen.\n\nIn pixels.", deprecation: "use \"size\""))
        #expect(members[2].words == TypeWords("Where to log in.", isSecret: true))
        #expect(types[1].words == TypeWords("Light or dark.", deprecation: "old"))
        #expect(types[1].cases.map(\.words) == [TypeWords("For the day."), TypeWords(deprecation: "use light")])
        #expect(types[2].cases.map(\.words) == [TypeWords("Round!", isSecret: true), TypeWords()])
    }

    @Test("what is inside of a secret is one, and nothing else")
    func secrets() throws {
        let types = try TypeRegistry().declare(
            "struct Door { code: Int; width: Int }; struct House { front: Door @secret; back: [Door] }")
        func isSecret(_ path: PropertyListPath) throws -> Bool {
            try #require(types[1].member(at: path)).words.isSecret
        }
        #expect(try isSecret(["front"]) && isSecret(["front", "code"]))
        #expect(try !isSecret([]) && !isSecret(["back"]) && !isSecret(["back", 0, "code"]))
    }

    @Test("of a type are those of its fields without any, and what is behind a field belongs to the next")
    func areInherited() throws {
        let members = try types()[0].members
        #expect(members[3].words == TypeWords("Light or dark.", deprecation: "old"))
        #expect(members[4].words == TypeWords("behind a field, so the next one's"))
    }

    @Test(
        "have the first sentence as their title",
        arguments: [
            ("One. Two.", "One."), ("No point", "No point"), ("Version 1.5 of it\nall. More", "Version 1.5 of it all."),
            ("First\n\nSecond.", "First"), ("Why? So.", "Why?"),
        ])
    func haveTitles(_ text: String, _ title: String) {
        #expect(TypeWords(text).title == title)
        #expect(TypeWords().title == nil)
    }

    @Test("are kept by declarations, which give the same words again")
    func areDeclared() throws {
        let types = try types()
        let declarations = types.compactMap(\.declaration)
        #expect(
            declarations[1] == """
                /// Light or dark.
                enum Theme: String @deprecated("old") {
                    /// For the day.
                    light
                    dark = "DARK" @deprecated("use light")
                }
                """)
        let again = try TypeRegistry().declare(declarations.joined(separator: "\n"))
        #expect(again == types)
        #expect(again.map(\.words) == types.map(\.words))
        #expect(again[0].members.map(\.words) == types[0].members.map(\.words))
        #expect(again.map { $0.cases.map(\.words) } == types.map { $0.cases.map(\.words) })
        #expect(again.compactMap(\.declaration) == declarations)
    }

    @Test("are in the annotations for editors")
    func areAnnotated() throws {
        let registry = TypeRegistry()
        try registry.declare(text)
        let annotations = registry.annotations
        #expect(
            annotations.contains("--- Light or dark.\n---@deprecated\n---@alias Theme\n---| \"light\" # For the day.\n")
        )
        #expect(annotations.contains("---| \"DARK\" # deprecated: use light\n"))
        #expect(annotations.contains("--- The settings of a player.\n--- More of them.\n---@class (exact) Settings\n"))
        #expect(
            annotations.contains(
                "--- \n--- In pixels.\n---@field width? integer default 640; deprecated: use \"size\"\n"))
        #expect(annotations.contains("---@field login? string secret\n"))
    }

    @Test("change nothing: types that differ in them alone are equal, and the newest words count")
    func changeNothing() throws {
        let registry = TypeRegistry()
        let plain = try registry.declare("struct A { x: Int }")[0]
        let told = try registry.declare("/// Told.\nstruct A { x: Int }")[0]
        #expect(plain == told)
        #expect(try registry.type("A").words.documentation == "Told.")
        try registry.declare("struct A { x: Int }")
        #expect(try registry.type("A").words.documentation == "Told.")
        try registry.declare("struct A { /// Eks.\n x: Int }")
        #expect(try registry.type("A").members[0].words.documentation == "Eks.")
    }

    @Test("of a registered Swift type are those of its registration")
    func areRegistered() throws {
        struct User: Codable { var name: String }
        let registry = TypeRegistry()
        var registration = TypeRegistry.Registration(name: "User", example: User(name: "Ada"))
        registration.words = TypeWords("Who it is.")
        registration.fieldWords = ["name": TypeWords("The full name.", deprecation: "use names")]
        let type = try registry.register(User.self, registration)
        #expect(type.words.documentation == "Who it is.")
        #expect(type.members[0].words.deprecation == "use names")
        #expect(
            type.declaration == """
                /// Who it is.
                struct User {
                    /// The full name.
                    name: String @deprecated("use names")
                }
                """)
        #expect(
            registry.annotations.contains("--- Who it is.\n---@class (exact) User\n--- The full name.\n---@field name"))
    }

    @Test("are in descriptions by trees")
    func areDescribed() throws {
        let type = try TypeRegistry().declare(
            description: tree([
                "kind": "struct", "name": "A", "documentation": "A.", "deprecated": "no", "secret": true,
                "fields": [
                    ["name": "x", "type": "Int", "documentation": "Eks."],
                    [
                        "name": "e",
                        "type": [
                            "kind": "enum", "name": "E", "raw": "Int", "cases": [["a", 1]], "documentation": "E.",
                        ],
                    ],
                    [
                        "name": "v",
                        "type": ["kind": "enum", "name": "V", "cases": [["name": "c", "documentation": "C."]]],
                    ],
                ],
            ]))
        #expect(type.words == TypeWords("A.", deprecation: "no", isSecret: true))
        #expect(type.members.map(\.words.documentation) == ["Eks.", "E.", nil])
        #expect(type.members[2].type.cases[0].words.documentation == "C.")
        let error = caught {
            _ = try TypeRegistry().declare(
                description: tree(["kind": "struct", "name": "A", "fields": [], "deprecated": 1]))
        }
        #expect(error?.description == "Expected String at deprecated, found Int")
    }

    @Test(
        "that are wrong have a position",
        arguments: [
            ("struct A { x: Int @deprecated }", "Expected \"(\", found \"}\" (line 1, column 31)"),
            ("struct A @key(x) { }", "Expected deprecated or secret, found \"key\" (line 1, column 11)"),
            (
                "struct A { x: Int @secrt }",
                "Expected key, transient, deprecated or secret, found \"secrt\" (line 1, column 20)"
            ),
            ("enum A { a @transient }", "Expected deprecated or secret, found \"transient\" (line 1, column 13)"),
        ])
    func havePositions(_ text: String, _ message: String) {
        #expect(caught { try TypeRegistry().declare(text) }?.description == message)
    }
}

/// Texts that name the type of a store.
@Suite("Schemas as texts") struct SchemaTextTests {
    @Test("give the root's type, and come back from it with all that it is made of")
    func giveRoots() throws {
        let text = """
            root Settings

            /// All.
            struct Settings {
                inner: [Inner]
                theme: Theme?
            }

            struct Inner {
                outer: Settings?
            }

            enum Theme: String { light, dark }

            """
        let type = try TypeRegistry().schema(text)
        #expect(type.description == "Settings")
        #expect(type.schemaText == text)
        #expect(try TypeRegistry().schema("enum Extra { a } " + text).schemaText == text)
    }

    @Test(
        "name one root, of a type in them",
        arguments: [
            ("struct A { x: Int }", "Expected a line that names the root, such as root Settings"),
            ("root A root A struct A { x: Int }", "Expected one root, found \"root\" (line 1, column 8)"),
            ("root Other struct A { x: Int }", "No type is named Other (line 1, column 6)"),
        ])
    func nameRoots(_ text: String, _ message: String) {
        #expect(caught { _ = try TypeRegistry().schema(text) }?.description == message)
    }

    @Test("are nothing of types without a declaration")
    func areOfDeclaredTypes() throws {
        #expect(try makeType("[Int]").schemaText == nil)
        struct Opaque: Codable {}
        let registry = TypeRegistry()
        try registry.register(Opaque.self, as: "Opaque")
        #expect(try registry.declare("struct A { x: Opaque }")[0].schemaText == nil)
    }

    @Test("find the member at a path of stored keys")
    func findMembers() throws {
        let type = try TypeRegistry().schema(
            """
            root S
            struct S { a: [B]; d: [String: B?] = [:]; v: V?; any: Any? }
            struct B { x: Int(1...5) @key(ex) = 3; secret: C? @secret }
            struct C { y: String }
            enum V { one(B) }
            """)
        #expect(type.member(at: ["a", 4, "ex"])?.type.description == "Int(1...5)")
        #expect(type.member(at: ["a", 4, "ex"])?.defaultValue == (try tree(3)))
        #expect(type.member(at: ["d", "k", "secret", "y"])?.words.isSecret == true)
        #expect(type.member(at: ["v", "one", "_0", "secret"])?.words.isSecret == true)
        #expect(type.member(at: ["a", 4, "ex"])?.words.isSecret == false)
        #expect(type.member(at: ["v", "one", "_0", "ex"])?.name == "x")
        #expect(type.member(at: ["any", 1, "deep"])?.type.description == "Any")
        #expect(type.member(at: [])?.type == type)
        for path: PropertyListPath in [["b"], ["a", "ex"], ["a", 0, "x"], ["d", 0], ["v", "two"]] {
            #expect(type.member(at: path) == nil)
        }
    }

    @Test("become a page of all settings")
    func becomePages() throws {
        let type = try TypeRegistry().schema(
            """
            root S
            /// What it does.
            struct S {
                /// How loud | or not.
                volume: Int(0...10) = 7
                windows: [Window] = []
                /// Never shown.
                token: String? @secret
                old: Theme? @deprecated("use volume")
            }
            struct Window { "a.b": Int; inner: [String: S]? }
            enum Theme: String @deprecated("there is one theme") { /// Bright.
                light, dark }
            """)
        #expect(
            type.referencePage(title: "com.acme") == """
                # com.acme

                What it does.

                | setting | type | default | meaning |
                |---|---|---|---|
                | `volume` | `Int(0...10)` | `7` | How loud \\| or not. |
                | `windows` | `[Window]` | `[]` |  |
                | `windows[]."a.b"` | `Int` |  |  |
                | `windows[].inner` | `[String: S]?` |  |  |
                | `token` | `String?` |  | Never shown. Secret: the file holds it as it is, and a keyring is the better place. |
                | `old` | `Theme?` |  | Deprecated: use volume. |

                ## Theme

                Deprecated: there is one theme

                | value | meaning |
                |---|---|
                | `"light"` | Bright. |
                | `"dark"` |  |

                """)
    }

    @Test("become pages with an end, however often structs hold one another")
    func becomeBoundedPages() throws {
        var text = "root S20 struct S0 { x: Int; y: Int }\n"
        for number in 1...20 { text += "struct S\(number) { a: S\(number - 1); b: S\(number - 1) }\n" }
        let page = try TypeRegistry().schema(text).referencePage(title: "Large")
        #expect(page.hasSuffix("\nOnly the first 5000 settings are shown.\n"))
        #expect(page.utf8.count < 1_000_000)
    }

    @Test("have lines that end as those of any system do")
    func haveLines() throws {
        for text in ["One.\nTwo.", "One.\r\nTwo.", "One.\rTwo."] {
            #expect(TypeWords(text).documentation == "One.\nTwo.")
        }
        let type = try TypeRegistry().schema("root S\r\n/// One.\r\n/// Two.\r\nstruct S { a: Int }\r\n")
        #expect(type.words == TypeWords("One.\nTwo."))
        #expect(try TypeRegistry().schema(#require(type.schemaText)).words == type.words)
    }

    @Test("show no default that holds a secret")
    func showNoSecrets() throws {
        let text = """
            root S
            struct S {
                key: String = "hidden" @secret
                pair: Pair = ["shown": 1, "secret": "hidden"]
                pairs: [Pair] = [["secret": "hidden"]]
                named: [String: Pair] = ["a": ["secret": "hidden"]]
                choice: Choice = ["key": ["_0": ["secret": "hidden"]]]
                plain: Pair = ["shown": 2]
            }
            struct Pair { shown: Int = 1; secret: String? @secret @key(s) }
            enum Choice { key(Pair), none }
            """
        let type = try TypeRegistry().schema(text)
        #expect(type.members.filter { $0.shownDefault != nil }.map(\.key) == ["plain"])
        let schema = try String(decoding: type.jsonSchema().serialized(as: .json), as: UTF8.self)
        for text in [schema, type.referencePage(title: "S")] {
            #expect(!text.contains("hidden"))
            #expect(text.contains("2"))
        }
    }

    @Test("have names among which the one that was meant is found")
    func findNames() {
        let names = CloseNames(["volume", "theme", "window", "tags"])
        for (given, meant) in [("volme", "volume"), ("Theme", "theme"), ("widnow", "window"), ("tag", "tags")] {
            #expect(names.closest(to: given) == meant)
        }
        for given in ["", "speed", "wi", "volumes of books", String(repeating: "volume", count: 60)] {
            #expect(names.closest(to: given) == nil)
        }
    }
}
