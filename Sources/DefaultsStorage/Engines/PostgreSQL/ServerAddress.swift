internal import CKVPostgreSQL
internal import Glibc
internal import PropertyLists

/// A server as a program names it, and how it is to be reached.
struct ServerAddress: Hashable, Sendable {
    /// libpq's connection text, such as `service=fleet`.
    let text: String
    /// Whether the program said that it wants no certificate checked.
    let isInsecure: Bool
    /// How often the stores' revisions are asked for; nil to be told of them, where the server does that.
    let pollInterval: Duration?

    /// - Throws: ``DefaultsError/Code/unavailable`` without libpq, ``DefaultsError/Code/misuse`` for a text that is
    ///   none or has a password in it, ``DefaultsError/Code/unsafeLocation`` where the server would not have to prove
    ///   who it is. No error repeats the text.
    init(_ text: String, isInsecure: Bool, pollInterval: Duration?) throws(DefaultsError) {
        self.text = text
        self.isInsecure = isInsecure
        self.pollInterval = pollInterval.map { max($0, .milliseconds(10)) }
        let pq = try Self.library()
        guard !text.utf8.contains(0), let parsed = pq.conninfoParse(text, nil) else {
            throw DefaultsError(.misuse, "Expected a connection text of libpq as server, such as \"service=fleet\"")
        }
        var given = Self.values(parsed)
        pq.conninfoFree(parsed)
        if given["password"] != nil || given["sslpassword"] != nil {
            let advice = "Keep the password in a service file, .pgpass or PGPASSWORD"
            throw DefaultsError(.misuse, "Expected a server without a password in its text. \(advice)")
        }
        // A service's options are known once libpq has read its file.
        guard given["service"] == nil, let defaults = pq.conndefaults() else { return }
        given.merge(Self.values(defaults)) { own, _ in own }
        pq.conninfoFree(defaults)
        try checkTrust(given)
    }

    /// libpq's functions.
    static func library() throws(DefaultsError) -> cpq_functions {
        if let functions = cpq_load() { return functions.pointee }
        let found = cpq_is_outdated() != 0 ? "an older one" : "none"
        throw DefaultsError(
            .unavailable, "A server needs libpq.so.5 of PostgreSQL 14 or later, found \(found): install libpq5")
    }

    /// The options that have a value.
    static func values(_ options: UnsafeMutablePointer<cpq_option>) -> [String: String] {
        var result: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.value { result[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return result
    }

    /// Checks that the server has to prove who it is: by its certificate, unless the program and it are on one machine.
    func checkTrust(_ options: [String: String]) throws(DefaultsError) {
        let mode = options["sslmode"] ?? "prefer"
        guard mode != "verify-full", !isInsecure else { return }
        let hosts = (options["host"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        let addresses = (options["hostaddr"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        for index in 0..<max(hosts.count, addresses.count) {
            let address = index < addresses.count && !addresses[index].isEmpty ? addresses[index] : nil
            let host = String(address ?? (index < hosts.count ? hosts[index] : ""))
            guard Self.isLocal(host) else {
                throw DefaultsError(
                    .unsafeLocation, .expected("sslmode=verify-full for a server elsewhere", found: "sslmode=\(mode)"))
            }
        }
    }

    /// Whether a host is this machine: the folder of a socket, or a loopback address.
    private static func isLocal(_ host: String) -> Bool {
        if host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" { return true }
        var four = in_addr()
        if inet_pton(AF_INET, host, &four) == 1 { return UInt32(bigEndian: four.s_addr) >> 24 == 127 }
        var six = in6_addr()
        guard inet_pton(AF_INET6, host, &six) == 1 else { return false }
        return withUnsafeBytes(of: &six) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
    }
}
