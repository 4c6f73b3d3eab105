internal import DefaultsStorage

/// The object behind a `kv_transaction`. That of a `kv_store` is the `DefaultsStore` itself.
final class TransactionHandle {
    let transaction: DefaultsTransaction

    init(_ transaction: DefaultsTransaction) {
        self.transaction = transaction
    }
}
