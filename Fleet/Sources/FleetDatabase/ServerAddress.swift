internal import CKVPostgreSQL
internal import Glibc

/// A server's address: libpq's connection text.
package struct ServerAddress: Sendable {
    /// libpq's connection text, such as `service=fleet`.
    let text: String
    /// True if the caller wants no certificate checked.
    let isInsecure: Bool

    /// - Throws: ``FleetError/Code/unsupported`` without libpq, ``FleetError/Code/misuse`` for a wrong text and for a
    ///   text with a password, ``FleetError/Code/unsafeLocation`` if the server would not have to prove who it is. No
    ///   error repeats the text.
    package init(_ text: String, isInsecure: Bool = false) throws(FleetError) {
        self.text = text
        self.isInsecure = isInsecure
        let pq = try Self.library()
        guard !text.utf8.contains(0), let parsed = pq.conninfoParse(text, nil) else {
            throw .noConnectionText
        }
        var given = Self.values(parsed)
        pq.conninfoFree(parsed)
        if given["password"] != nil || given["sslpassword"] != nil { throw .passwordInText }
        // libpq reads a service's options from its file when it connects; they are checked then.
        guard given["service"] == nil, let defaults = pq.conndefaults() else { return }
        given.merge(Self.values(defaults)) { own, _ in own }
        pq.conninfoFree(defaults)
        try checkTrust(given)
    }

    /// libpq's functions.
    static func library() throws(FleetError) -> cpq_functions {
        if let functions = cpq_load() { return functions.pointee }
        throw .noLibrary(isOutdated: cpq_is_outdated() != 0)
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

    /// Checks that a server on another machine has to prove who it is, by its certificate.
    func checkTrust(_ options: [String: String]) throws(FleetError) {
        let mode = options["sslmode"] ?? "prefer"
        guard mode != "verify-full", !isInsecure else { return }
        let hosts = (options["host"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        let addresses = (options["hostaddr"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        for index in 0..<max(hosts.count, addresses.count) {
            let address = index < addresses.count && !addresses[index].isEmpty ? addresses[index] : nil
            let host = String(address ?? (index < hosts.count ? hosts[index] : ""))
            guard Self.isLocal(host) else { throw .unprovenServer(mode) }
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
