import DefaultsStorage
import Foundation
import PropertyLists
import Testing

@Suite struct MigrationTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    // proves: G56
    @Test("migrates step by step, once, and keeps the old file")
    func migrations() throws {
        let file = folder.file("a.plist")
        try Data(list(["name": "x"]).serialized(as: .xml)).write(to: URL(fileURLWithPath: file))
        let steps = [
            DefaultsMigration(to: 2) { transaction in
                let old = try transaction.value(at: ["user"])
                if let old { try transaction.set(list(["name": old.string ?? ""]), at: ["user"]) }
            },
            DefaultsMigration(to: 1) { transaction in
                if let old = try transaction.value(at: ["name"]) { try transaction.set(old, at: ["user"]) }
                _ = try transaction.remove(at: ["name"])
            },
        ]
        for _ in 0..<2 {
            let store = try DefaultsStore.open(path: file, options: options { $0.migrations = steps })
            #expect(try store.dictionary(of: .application) == list(["user": ["name": "x"], "KVStoreVersion": 2]))
            try store.close()
        }
        let kept = try [UInt8](Data(contentsOf: URL(fileURLWithPath: file + ".v0")))
        #expect(try PropertyList.parse(kept).list == list(["name": "x"]))
        let expected = DefaultsError(
            .migration, expected: "at most version 1", found: "2: a newer program wrote the store", file: file)
        #expect(throws: expected) {
            try DefaultsStore.open(path: file, options: options { $0.migrations = [steps[1]] })
        }
    }

    // proves: G56
    @Test("steps run again on what another program writes meanwhile, but not for ever", arguments: [1, 9, 10])
    func meanwhile(writes: Int) throws {
        let file = folder.file
        try folder.write(["old": 0])
        let runs = Box(0)
        let step = DefaultsMigration(to: 1) { transaction in
            if let old = try transaction.value(at: ["old"]) { try transaction.set(old, at: ["new"]) }
            _ = try transaction.remove(at: ["old"])
            runs.change { $0 += 1 }
            guard runs.value <= writes else { return }
            try Data(list(["old": runs.value]).serialized(as: .xml)).write(to: URL(fileURLWithPath: file + ".other"))
            #expect(rename(file + ".other", file) == 0)
        }
        let open = { try DefaultsStore.open(path: file, options: options { $0.migrations = [step] }) }
        if writes < 10 {
            let store = try open()
            #expect(try store.dictionary(of: .application) == list(["new": writes, "KVStoreVersion": 1]))
            #expect(runs.value == writes + 1)
        } else {
            let error = #expect(throws: DefaultsError.self) { try open() }
            #expect(error?.code == .conflict)
            #expect(try folder.stored() == list(["old": 10]))
        }
    }

    // proves: G56
    @Test("a migration that fails leaves the store as it was")
    func failedMigration() throws {
        struct Stop: Error {}
        let file = folder.file("a.plist")
        try Data(list(["name": "x"]).serialized(as: .xml)).write(to: URL(fileURLWithPath: file))
        let step = DefaultsMigration(to: 1) { transaction in
            try transaction.set(list(1), at: ["half"])
            throw Stop()
        }
        #expect(throws: DefaultsError(.migration, "The migration to version 1 failed: Stop()", file: file)) {
            try DefaultsStore.open(path: file, options: options { $0.migrations = [step] })
        }
        #expect(try DefaultsStore.open(path: file).snapshot() == list(["name": "x"]))
        let memory = options {
            $0.engine = .memory
            $0.migrations = [step]
        }
        #expect(throws: DefaultsError(.migration, "The migration to version 1 failed: Stop()")) {
            try DefaultsStore.open("scratch", options: memory)
        }
    }

    @Test("the program's check sees what migrations made, not what they did on the way", arguments: [1, 2])
    func validation(last: Int) throws {
        struct No: Error, CustomStringConvertible { let description = "no" }
        let file = folder.file("b.plist")
        let steps = (1...2).map { version in
            DefaultsMigration(to: version) { try $0.set(list(version * 10), at: ["a"]) }
        }
        let given = options {
            $0.migrations = Array(steps[..<last])
            $0.validation = { path, value in if path == ["a"], value?.integer != 20 { throw No() } }
        }
        guard last == 2 else {
            #expect(throws: DefaultsError(.refused, "no", at: ["a"], file: file)) {
                try DefaultsStore.open(path: file, options: given)
            }
            #expect(try DefaultsStore.open(path: file).snapshot().count == 0)
            return
        }
        let store = try DefaultsStore.open(path: file, options: given)
        #expect(try store.value(at: ["a"])?.integer == 20)
        #expect(throws: DefaultsError(.refused, "no", at: ["a"], file: file)) { try store.set(list(1), at: ["a"]) }
    }

    @Test("a transaction becomes a migration, once", arguments: DefaultsStore.Options.Engine.tested)
    func transaction(engine: DefaultsStore.Options.Engine) throws {
        let file = folder.file("c.store")
        let store = try DefaultsStore.open(path: file, options: options { $0.engine = engine })
        try store.set(list(1), at: ["old"])
        try store.sync()
        try store.transaction { transaction in
            let found = try transaction.beginMigration(to: 3)
            #expect(found == 0)
            _ = try transaction.remove(at: ["old"])
        }
        #expect(try store.version() == 3)
        try store.transaction { transaction in
            let found = try transaction.beginMigration(to: 3)
            #expect(found == nil)
        }
        let tooOld = DefaultsError(
            .migration, expected: "at most version 2", found: "3: a newer program wrote the store", file: store.file)
        #expect(throws: tooOld) { try store.transaction { _ = try $0.beginMigration(to: 2) } }
        #expect(throws: DefaultsError(.misuse, expected: "a version from 1", found: "0")) {
            try store.transaction { _ = try $0.beginMigration(to: 0) }
        }
        let ended = try store.beginTransaction()
        try ended.commit()
        #expect(throws: DefaultsError(.closed, "The transaction has ended")) { try ended.beginMigration(to: 4) }
        #expect(access(file + ".v3", F_OK) != 0)
        guard engine != .memory else {
            let given = options {
                $0.engine = engine
                $0.migrations = [DefaultsMigration(to: 1) { try $0.set(list(2), at: ["new"]) }]
            }
            let migrated = try DefaultsStore.open("scratch", options: given)
            #expect(try migrated.dictionary(of: .application) == list(["KVStoreVersion": 1, "new": 2]))
            return
        }
        let kept = try DefaultsStore.open(path: file + ".v0", options: options { $0.engine = engine })
        #expect(try kept.snapshot() == list(["old": 1]))
    }

    @Test("a transaction whose migration the program's check refuses has ended, and leaves the store to others")
    func refusedTransaction() throws {
        struct No: Error, CustomStringConvertible { var description: String { "no" } }
        let file = folder.file("d.plist")
        let store = try DefaultsStore.open(path: file, options: options { $0.validation = { _, _ in throw No() } })
        let transaction = try store.beginTransaction()
        #expect(try transaction.beginMigration(to: 1) == 0)
        try transaction.set(list(1), at: ["a"])
        #expect(throws: DefaultsError(.refused, "no", at: ["a"], file: file)) { try transaction.commit() }
        try onAnotherThread { try store.beginTransaction(timeout: .milliseconds(30)).commit() }
        #expect(throws: DefaultsError(.closed, "The transaction has ended")) { try transaction.commit() }
        #expect(try store.snapshot().count == 0)
    }

    @Test("what the program's check itself sets when it looks at a migration is checked, too")
    func checksItself() throws {
        let seen = Box<[PropertyListPath]>([])
        let handle = Box<DefaultsStore?>(nil)
        let store = try DefaultsStore.open(
            path: folder.file("e.plist"),
            options: options {
                $0.validation = { path, _ in
                    seen.change { $0.append(path) }
                    if path == ["a"] { try handle.value?.set(list(1), at: ["b"]) }
                }
            })
        handle.change { $0 = store }
        try store.transaction { transaction in
            _ = try transaction.beginMigration(to: 1)
            try transaction.set(list(1), at: ["a"])
        }
        handle.change { $0 = nil }
        #expect(seen.value == [["a"], ["b"]])
        #expect(try store.dictionary(of: .application) == list(["a": 1, "b": 1, "KVStoreVersion": 1]))
    }

    @Test("refuses steps that leave a version out, or lead to one twice", arguments: [[1, 3], [2, 2], [1, 2, 2, 3]])
    func gaps(versions: [Int]) throws {
        let steps = versions.reversed().map { DefaultsMigration(to: $0) { _ in } }
        let error = #expect(throws: DefaultsError.self) {
            try DefaultsStore.open(path: folder.file("a.plist"), options: options { $0.migrations = steps })
        }
        #expect(error?.code == .misuse)
        #expect(error?.message.hasPrefix("Expected a migration to version ") == true)
    }

    // proves: G56
    @Test("the kept file is that before the migration that was committed", arguments: ["a.plist", "a.sqlite"])
    func copyOfTheCommitted(name: String) throws {
        let store = try DefaultsStore.open(path: folder.file(name))
        try store.set(list(1), at: ["a"])
        try store.sync()
        let first = try store.beginTransaction()
        _ = try first.beginMigration(to: 1)
        first.rollback()
        #expect(try folder.names().filter { $0.contains(".v0") } == [])
        try store.set(list(2), at: ["a"])
        try store.sync()
        try store.transaction { _ = try $0.beginMigration(to: 1) }
        let kept = try DefaultsStore.open(
            path: folder.file(name + ".v0"),
            options: options { $0.engine = name == "a.plist" ? .propertyList : .sqlite })
        #expect(try kept.snapshot() == list(["a": 2]))
    }

    @Test("refuses a step to a version below 1", arguments: [0, -1, Int.min])
    func belowOne(version: Int) throws {
        let steps = [DefaultsMigration(to: version) { _ in }, DefaultsMigration(to: 1) { _ in }]
        #expect(throws: DefaultsError(.misuse, expected: "a version from 1", found: "\(version)")) {
            try DefaultsStore.open(path: folder.file("a.plist"), options: options { $0.migrations = steps })
        }
        #expect(try folder.names() == [])
    }
}
