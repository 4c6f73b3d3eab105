import DefaultsStorage
import Foundation
import PropertyLists
import TestSupport
import Testing

/// One test after the other: some change the environment.
@Suite(.serialized) struct SearchListTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A store with every layer but suites and the global domain, which only names have.
    private func layered() throws -> DefaultsStore {
        try Data(list(["locked": "managed"]).serialized(as: .xml))
            .write(to: URL(fileURLWithPath: folder.file("managed.plist")))
        return try DefaultsStore.open(
            path: folder.file("a.plist"),
            options: options {
                $0.managedFile = folder.file("managed.plist")
                $0.arguments = try? list(["argued": "arguments", "locked": "arguments"])
                $0.defaults = try? list(["locked": "registered", "argued": 1, "own": 1, "below": ["a": 1, "b": 2]])
            })
    }

    // proves: G46
    @Test("finds the first layer that has the key")
    func order() throws {
        let store = try layered()
        try store.set(list("application"), at: ["own"])
        try store.set(list("application"), at: ["argued"])
        #expect(try store.value(at: ["locked"])?.string == "managed")
        #expect(try store.value(at: ["argued"])?.string == "arguments")
        #expect(try store.value(at: ["own"])?.string == "application")
        #expect(try store.value(at: ["below", "b"])?.integer == 2)
        #expect(try store.value(at: ["absent"]) == nil)
        #expect(try store.keys() == ["argued", "below", "locked", "own"])
        #expect(
            try store.snapshot()
                == list([
                    "argued": "arguments", "below": ["a": 1, "b": 2], "locked": "managed", "own": "application",
                ]))
        #expect(try store.dictionary(of: .application) == list(["own": "application", "argued": "application"]))
        #expect(try store.dictionary(of: .managed) == list(["locked": "managed"]))
    }

    @Test("a closed handle says so of each layer's keys", arguments: ["locked", "argued", "own", "below", "absent"])
    func closed(key: String) throws {
        let store = try layered()
        try store.close()
        #expect(throws: DefaultsError(.closed, "The store was closed")) { try store.value(forKey: key) }
    }

    @Test("another layer's file is only read, also where it is damaged and could be kept")
    func onlyRead() throws {
        let store = try layered()
        try folder.write("<plist>", to: "managed.plist")
        let error = #expect(throws: DefaultsError.self) { try store.refresh() }
        #expect(error?.code == .corrupt)
        #expect(error?.file == folder.file("managed.plist"))
        #expect(try store.value(at: ["locked"])?.string == "managed")
        #expect(try folder.names() == ["managed.plist"])
    }

    // proves: G47
    @Test("refuses to change or remove a locked value, and anything under it")
    func forced() throws {
        let store = try layered()
        #expect(try store.isForced("locked"))
        #expect(try !store.isForced("own"))
        for path in [["locked"], ["locked", "inner"]] as [PropertyListPath] {
            let expected = DefaultsError(
                .forced, "The administrator has set this value", at: ["locked"], file: folder.file("managed.plist"))
            #expect(throws: expected) { try store.set(list(1), at: path) }
            #expect(throws: expected) { try store.remove(at: path) }
            #expect(throws: expected) { try store.reset(at: path) }
        }
        try store.set(list("managed"), at: ["locked"])
        #expect(try store.dictionary(of: .application)["locked"] == nil)
    }

    // proves: G47
    @Test("takes for the administrator's what neither the user owns nor everybody may write")
    func administrators() throws {
        let file = folder.file("managed.plist")
        try folder.write("<plist>", to: "managed.plist")
        #expect(chmod(file, 0o644) == 0)
        let owner = geteuid()
        let another: UInt32 = owner == 12345 ? 12346 : 12345
        try DefaultsStore.checkAdministrators(file, user: another)
        try DefaultsStore.checkAdministrators(folder.file("none.plist"), user: another)
        let users = DefaultsError(
            .unsafeLocation, expected: "the administrator's", found: "what belongs to the user", file: file)
        if owner == 0 {
            try DefaultsStore.checkAdministrators(file, user: 0)
            #expect(chown(file, another, another) == 0)
            #expect(throws: users) { try DefaultsStore.checkAdministrators(file, user: another) }
        } else {
            #expect(throws: users) { try DefaultsStore.checkAdministrators(file, user: owner) }
        }
        #expect(chmod(file, 0o646) == 0)
        let everybodys = DefaultsError(
            .unsafeLocation, expected: "the administrator's", found: "what everybody may write", file: file)
        for user in [0, another + 1] {
            #expect(throws: everybodys) { try DefaultsStore.checkAdministrators(file, user: user) }
        }
    }

    /// The layer of a value and the name of its file.
    private func origin(_ store: DefaultsStore, _ path: PropertyListPath) throws -> String? {
        try store.origin(at: path).map { origin in
            "\(origin.layer)" + (origin.file.map { " " + URL(fileURLWithPath: $0).lastPathComponent } ?? "")
        }
    }

    @Test("tells the layer and the file of a value")
    func origins() throws {
        let store = try layered()
        try store.set(list(["inner": 1]), at: ["own"])
        #expect(try origin(store, ["locked"]) == "managed managed.plist")
        #expect(try origin(store, ["argued"]) == "arguments")
        #expect(try origin(store, ["own", "inner"]) == "application a.plist")
        #expect(try origin(store, ["below", "b"]) == "registered")
        for absent in [[], ["absent"], ["own", "other"], ["below", "c"], [0]] as [PropertyListPath] {
            #expect(try origin(store, absent) == nil)
        }
        // A change that is not committed yet is the thread's own.
        try store.transaction { changes in
            try changes.set(list(2), at: ["below", "b"])
            #expect(try origin(store, ["below", "b"]) == "application a.plist")
            #expect(try origin(store, ["below", "a"]) == "registered")
        }
        #expect(try store.remove(at: ["below"]))
        #expect(try origin(store, ["below"]) == "registered")
        try store.close()
        for path in [["own"], []] as [PropertyListPath] {
            #expect(throws: DefaultsError(.closed, "The store was closed")) { try store.origin(at: path) }
        }
    }

    // proves: G46
    @Test("remove uncovers the layer below")
    func uncovers() throws {
        let store = try layered()
        try store.set(list(2), at: ["own"])
        #expect(try store.remove(at: ["own"]))
        #expect(try store.value(at: ["own"])?.integer == 1)
        #expect(try !store.remove(at: ["own"]))
    }

    // proves: G46
    @Test("keeps keys apart that print alike, when a difference is stored")
    func keepsKeysApart() throws {
        let store = try DefaultsStore.open("scratch", options: options { $0.engine = .memory })
        let (one, other) = ("\u{e9}", "e\u{301}")
        let document = { (first: Int, second: Int) throws in
            try PropertyList(parsing: Array(#"{"\#(one)": \#(first), "\#(other)": \#(second)}"#.utf8), as: .json)
        }
        let before = try document(1, 2)
        try store.set(before, forKey: "w")
        try store.merge(ancestor: before, ours: try document(3, 4), at: ["w"])
        let after = try document(3, 4)
        #expect(try store.value(forKey: "w") == after)
    }

    // proves: G47
    @Test("an empty dictionary of the managed file is locked, also in the whole dictionary")
    func locksEmptyDictionaries() throws {
        try folder.write(
            "<plist><dict><key>w</key><dict><key>d</key><dict/></dict></dict></plist>", to: "managed.plist")
        let store = try DefaultsStore.open(
            path: folder.file("a.plist"),
            options: options {
                $0.managedFile = folder.file("managed.plist")
                $0.defaults = try? list(["w": ["d": ["x": 1]]])
            })
        let locked = try list(["d": [String: Any]()])
        #expect(try store.value(at: ["w"]) == locked)
        #expect(try store.snapshot()["w"] == locked)
    }

    // proves: G46
    @Test("stores what is set alone, and notes what is unset")
    func storesOnlyWhatIsSet() throws {
        let store = try layered()
        try store.set(list(7), at: ["below", "a"])
        #expect(try store.dictionary(of: .application) == list(["below": ["a": 7]]))
        #expect(try store.value(at: ["below"]) == list(["a": 7, "b": 2]))
        #expect(try store.remove(at: ["below", "a"]))
        #expect(try store.value(at: ["below"]) == list(["b": 2]))
        #expect(try store.remove(at: ["below", "b"]))
        #expect(
            try store.dictionary(of: .application)
                == list(["below": [String: Any](), "KVUnset": [["below", "a"], ["below", "b"]]]))
        #expect(try store.value(at: ["below"]) == list([String: Any]()))
        #expect(try !store.keys().contains("KVUnset"))
        try store.set(list(["b": 3]), at: ["below"])
        #expect(try store.dictionary(of: .application) == list(["below": ["b": 3], "KVUnset": [["below", "a"]]]))
        #expect(try store.reset(at: ["below"]))
        #expect(try store.dictionary(of: .application) == list([String: Any]()))
        #expect(try store.value(at: ["below"]) == list(["a": 1, "b": 2]))
    }

    @Test("passes over an unset path that is longer than a value is deep, and keeps it")
    func passesOverLongPaths() throws {
        let long = [String](repeating: "below", count: 200_000)
        try Data(list(["KVUnset": [long, ["below", "a"]]]).serialized(as: .xml))
            .write(to: URL(fileURLWithPath: folder.file("a.plist")))
        let store = try layered()
        #expect(try store.value(at: ["below"]) == list(["b": 2]))
        try store.remove(at: ["below", "b"])
        #expect(
            try store.dictionary(of: .application) == list(["KVUnset": [long, ["below", "a"], ["below", "b"]]]))
    }

    @Test("notes many unset paths in a time that grows with their number")
    func notesManyPaths() throws {
        let many = Dictionary(uniqueKeysWithValues: (0..<50_000).map { ("key\($0)", 1) })
        let store = try layered()
        try store.register(list(many))
        try store.set(list(["own": 2]), at: [])
        #expect(try store.value(at: []) == list(["own": 2, "locked": "managed", "argued": "arguments"]))
    }

    @Test(
        "copies no lower layer's value for a change that fails or makes nothing",
        arguments: [DefaultsDurability.manual, .immediate])
    func copiesNothing(_ durability: DefaultsDurability) throws {
        let store = try DefaultsStore.open(
            path: folder.file("a.plist"),
            options: options {
                $0.durability = durability
                $0.defaults = try? list(["title": "x", "list": [1]])
            })
        let scalar = DefaultsError(.pathMismatch, expected: "Dictionary", found: "String", at: ["title"])
        #expect(throws: scalar) { try store.set(list(1), at: ["title", "inner"]) }
        let end = "an element of the array or the place behind the last"
        #expect(throws: DefaultsError(.pathMismatch, expected: end, found: "none", at: ["list", 9])) {
            try store.set(list(1), at: ["list", 9])
        }
        #expect(try !store.remove(at: ["list", 3]))
        #expect(try !store.remove(at: ["title", "inner"]))
        #expect(try store.dictionary(of: .application) == list([String: Any]()))
        try store.set(list(2), at: ["list", 1])
        try store.register(list(["title": "y"]))
        #expect(try store.value(at: ["title"])?.string == "y")
        #expect(try store.dictionary(of: .application) == list(["list": [1, 2]]))
    }

    @Test("looks inside the winning value only")
    func winner() throws {
        let store = try layered()
        try store.set(list(["a": 1]), at: ["below"])
        #expect(try store.value(at: ["below", "b"]) == nil)
    }

    @Test("searches suites and the global domain of a store opened by name, and takes up their changes")
    func names() throws {
        let config = folder.file("new/config")
        try withEnvironment(["XDG_CONFIG_HOME": config]) { try searchNames(config) }
    }

    private func searchNames(_ config: String) throws {
        let reader = try DefaultsStore.open("org.reader", options: options { $0.isReadOnly = true })
        #expect(try reader.keys().isEmpty)
        #expect(try folder.names().isEmpty)
        let suite = try DefaultsStore.open("org.suite", options: options { $0.searchesGlobalDomain = false })
        try suite.set(list("suite"), at: ["shared"])
        try suite.sync()
        #expect(try folder.mode(of: "new") == 0o700 && folder.mode(of: "new/config") == 0o700)
        try Data(list(["shared": "global", "everywhere": true]).serialized(as: .binary))
            .write(to: URL(fileURLWithPath: config + "/.GlobalPreferences.plist"))
        let store = try DefaultsStore.open("org.app", options: options { $0.suites = ["org.suite"] })
        #expect(try store.value(at: ["shared"])?.string == "suite")
        #expect(try store.value(at: ["everywhere"])?.boolean == true)
        try suite.set(list("changed"), at: ["shared"])
        #expect(try store.value(at: ["shared"])?.string == "changed")
        #expect(try store.dictionary(of: .suite(0)) == list(["shared": "changed"]))
        #expect(try origin(store, ["shared"]) == "suite(0) org.suite.plist")
        #expect(try origin(store, ["everywhere"]) == "global .GlobalPreferences.plist")
        #expect(try store.snapshot() == list(["shared": "changed", "everywhere": true]))
        try store.set(list("own"), at: ["shared"])
        try store.close()
        #expect(FileManager.default.fileExists(atPath: config + "/org.app.plist"))
        let error = #expect(throws: DefaultsError.self) {
            try DefaultsStore.open("org.app", options: options { $0.suites = ["../org.suite"] })
        }
        #expect(error?.code == .invalidName)
        // Nothing can be made there; named is the first folder that is missing.
        setenv("XDG_CONFIG_HOME", "/proc/none/config", 1)
        let missing = DefaultsError(.io, "mkdir: No such file or directory", file: "/proc/none", errno: ENOENT)
        #expect(throws: missing) { try DefaultsStore.open("org.app") }
        try homes()
    }

    @Test("makes folders for names, and lists the stores in them")
    func folders() throws {
        try withEnvironment(["XDG_CONFIG_HOME": folder.file("config")]) { try makeFolders() }
    }

    private func makeFolders() throws {
        #expect(try DefaultsStore.names() == [])
        let reader = try DefaultsStore.open("acme/deep/more", options: options { $0.isReadOnly = true })
        #expect(try reader.keys() == [])
        #expect(try folder.names().isEmpty)
        for name in ["acme/deep/more", "acme/settings", "plain"] {
            let store = try DefaultsStore.open(name)
            try store.set(list(name), at: ["name"])
            try store.close()
            #expect(try DefaultsStore.path(of: name) == folder.file("config/\(name).plist"))
            #expect(store.file?.hasSuffix("/config/\(name).plist") == true)
        }
        #expect(try folder.mode(of: "config/acme") == 0o700 && folder.mode(of: "config/acme/deep") == 0o700)
        #expect(try DefaultsStore.names() == ["acme/deep/more", "acme/settings", "plain"])
        #expect(try DefaultsStore.names(engine: .sqlite) == [])
        #expect(try DefaultsStore.path(of: "a", engine: .memory) == nil)
        let store = try DefaultsStore.open("other", options: options { $0.suites = ["acme/settings"] })
        #expect(try store.value(at: ["name"])?.string == "acme/settings")
    }

    /// Which folder is meant where the environment names none, or one that is not the same everywhere.
    private func homes() throws {
        let home = getenv("HOME").map { String(cString: $0) }
        defer { if let home { setenv("HOME", home, 1) } else { unsetenv("HOME") } }
        func file() throws -> String? {
            try DefaultsStore.open("org.example.none", options: options { $0.isReadOnly = true }).file
        }
        setenv("HOME", folder.file("home"), 1)
        for other in ["", "config"] {
            setenv("XDG_CONFIG_HOME", other, 1)
            #expect(try file() == folder.file("home/.config/org.example.none.plist"))
        }
        guard let user = getpwuid(geteuid()) else { return }
        setenv("HOME", "home", 1)
        #expect(try file() == String(cString: user.pointee.pw_dir) + "/.config/org.example.none.plist")
    }

    // proves: G51
    @Test(
        "refuses a name that would leave the folder",
        arguments: [
            "", ".hidden", "a..b", "..", "a\0b", "/a", "a/", "a//b", "a/../b", "a/.b", "a/b/c/d/e/f/g/h/i",
        ])
    func badNames(name: String) {
        let expected = DefaultsError(
            .invalidName,
            expected: "a name like com.acme.app or acme/settings, without \"..\" and a \".\" at a part's beginning",
            found: "\"\(name)\"")
        #expect(throws: expected) { try DefaultsStore.open(name) }
        #expect(throws: expected) { try DefaultsStore.path(of: name) }
        #expect(throws: expected) { try DefaultsStore.open("a", options: options { $0.suites = [name] }) }
    }

    @Test("reads a command line as UserDefaults does")
    func arguments() throws {
        let found = try DefaultsStore.arguments(from: [
            "program", "-level", "<plist><integer>3</integer></plist>", "-name", "my text", "file", "-flag", "-other",
            "x",
        ])
        #expect(found == (try list(["level": 3, "name": "my text", "other": "x"])))
    }
}

@Suite struct GetterTests {
    // proves: G48
    @Test("coerces as UserDefaults does")
    func coerces() throws {
        let store = try DefaultsStore.open("scratch", options: options { $0.engine = .memory })
        for (key, value) in [
            "yes": "YES", "true": "true", "one": "1", "no": "no", "n": 42, "text": "42 apples", "half": 2.5, "on": true,
            "texts": ["a", "b"], "mixed": ["a", 1], "big": Double.infinity,
        ] as [String: Any] { try store.set(list(value), forKey: key) }
        #expect(try ["yes", "true", "one", "n", "half", "on"].allSatisfy { try store.bool(forKey: $0) })
        #expect(try !store.bool(forKey: "no") && !store.bool(forKey: "absent") && !store.bool(forKey: "texts"))
        #expect(try store.integer(forKey: "text") == 42)
        #expect(try store.integer(forKey: "half") == 2)
        #expect(try store.integer(forKey: "on") == 1)
        #expect(try store.integer(forKey: "big") == .max)
        #expect(try store.integer(forKey: "n") == 42)
        #expect(try store.double(forKey: "n") == 42)
        #expect(try store.double(forKey: "on") == 1)
        try store.set(list(UInt64.max), forKey: "unsigned")
        #expect(try store.integer(forKey: "unsigned") == .max)
        #expect(try store.double(forKey: "unsigned") == Double(UInt64.max))
        #expect(try store.string(forKey: "unsigned") == "18446744073709551615")
        #expect(try store.string(forKey: "text") == "42 apples")
        #expect(try store.string(forKey: "half") == "2.5")
        #expect(try store.double(forKey: "text") == 42)
        #expect(try store.float(forKey: "half") == 2.5)
        #expect(try store.string(forKey: "n") == "42")
        #expect(try store.string(forKey: "on") == "1")
        #expect(try store.string(forKey: "texts") == nil)
        #expect(try store.stringArray(forKey: "texts") == ["a", "b"])
        #expect(try store.stringArray(forKey: "mixed") == nil)
        #expect(try store.array(forKey: "mixed")?.count == 2)
        #expect(try store.value(forKey: "yes")?.boolean == nil)
    }

    @Test(
        "reads texts as NSString does",
        arguments: [
            "", " ", "0", "00", "2", "-1", "+0", "+07", " YES", "\tyes", "-true", "0y", "yellow", "Tuesday", "no", "on",
            "false", "\nyes",
            "1.5", "-2.5e1x", " .5", "5.", "+.e5", "1,5", "12 apples", "0.1e-3", "1.7976931348623157e308",
            "99999999999999999999", "-0.0", "é", "--1", "1e400",
        ])
    func texts(_ text: String) throws {
        let store = try DefaultsStore.open("scratch", options: options { $0.engine = .memory })
        try store.set(list(text), forKey: "a")
        #expect(try store.bool(forKey: "a") == NSString(string: text).boolValue)
        #expect(try store.double(forKey: "a") == NSString(string: text).doubleValue)
    }

    @Test("reads texts by no locale's rules, and no hexadecimal or named number")
    func plainTexts() throws {
        let store = try DefaultsStore.open("scratch", options: options { $0.engine = .memory })
        for (text, number) in [("0x10", 0.0), ("infinity", 0), ("nan", 0), ("1.5", 1.5), ("1e", 1), ("1e+", 1)] {
            try store.set(list(text), forKey: "a")
            #expect(try store.double(forKey: "a") == number)
        }
    }
}
