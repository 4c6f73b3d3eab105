import ArgumentParser
import DomainAccess
import KVCodable

struct Types: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the type that is published for a domain.",
        discussion: "Exit status 1 where there is none.")

    @Argument(help: "A store's name, or the path of its file.") var domain: Domain
    @Flag(
        name: [.customLong("json-schema"), .customLong("json")],
        help: "Print the JSON Schema (2020-12), for other tools.")
    var jsonSchema = false
    @Flag(help: "Print a page of all settings in Markdown.") var markdown = false
    @Flag(help: "Print annotations for the Lua language server.") var annotations = false

    func validate() throws {
        guard [jsonSchema, markdown, annotations].count(where: \.self) < 2 else {
            throw ValidationError("Expected one of --json-schema, --markdown and --annotations, found several")
        }
    }

    func run() throws {
        let type = try domain.requiredType()
        if jsonSchema {
            print(try about(domain.text) { try JSONText.of(plain: try type.jsonSchema()) })
        } else if markdown {
            print(type.referencePage(title: domain.text), terminator: "")
        } else if annotations {
            let registry = TypeRegistry()
            _ = try about(domain.text) { try registry.schema(type.schemaText ?? "") }
            print(registry.annotations, terminator: "")
        } else {
            print(type.schemaText ?? "", terminator: "")
        }
    }
}
