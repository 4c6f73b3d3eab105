internal import DefaultsStorage

/// What a `kv_transaction` points to. A `kv_store` points to the `DefaultsStore` itself.
final class TransactionHandle {
    let transaction: DefaultsTransaction

    init(_ transaction: DefaultsTransaction) {
        self.transaction = transaction
    }
}
