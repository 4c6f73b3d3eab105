// A program in Swift that runs scripts which it does not trust: they read one part of its settings, change another by
// the names of its types, and reach nothing else.
//
// The program has its settings in a struct, and takes up in its loop what others change.
//
//   SwiftHost SCRIPTS FOLDER [SCRIPT…]
//   SwiftHost SCRIPTS FOLDER SECONDS     the loop
import Glibc
import KVCodable

let scripts = CommandLine.arguments[1]
let folder = CommandLine.arguments[2]

let store = try DefaultsStore.open(path: folder + "/host.plist")
try store.encode("keep out", forKey: "secret")
try store.encode("light", at: ["ui", "theme"])
try store.encode(User(name: "Ada King", age: 36), at: ["plugins", "demo", "user"])

// A script changes a user whose init(from:) and encode(to:) are the program's own.
let types = TypeRegistry()
try types.register(User.self, as: "User", example: User(name: "A B", age: 1))
do {
    let state = try ScriptState(types: types)
    try state.give(store, at: ["plugins", "demo"], as: "mine")
    try state.run(scripts + "/birthday.lua")
}
if let user = try store.decode(User.self, at: ["plugins", "demo", "user"]) {
    print("the program reads", user.name, user.age)
}

// Another tries to get out.
if CommandLine.arguments.count != 4 || Double(CommandLine.arguments[3]) == nil {
    let state = try ScriptState(types: types)
    try state.give(store, at: ["ui"], as: "ui", isReadOnly: true)
    try state.give(store, at: ["plugins", "demo"], as: "mine")
    state.set(folder, as: "home")
    let (tries, escapes) = try state.runEscapes(scripts + "/escape.lua")
    print("\(tries) tries, \(escapes.count) ways out", escapes.joined(separator: "; "))
}

if CommandLine.arguments.count == 4, let seconds = Double(CommandLine.arguments[3]) {
    try follow(store, seconds: seconds)
    print("the theme is still", try store.decode(String.self, at: ["ui", "theme"]) ?? "unknown")
    exit(0)
}

// What others do wrong ends them, and not the program.
for script in CommandLine.arguments.dropFirst(3) {
    do {
        let state = try ScriptState(types: types)
        try state.give(store, at: ["plugins", "demo"], as: "mine")
        try state.run(script)
    } catch {
        print("\(script): \(error)")
    }
}
