/// The program of a type, made when it is first needed. Copies of a type share it.
///
/// `@unchecked Sendable`: the lock guards what changes.
final class TypeProgramCache: @unchecked Sendable {
    private let lock = TypeLock()
    private var made: (program: TypeProgram, generation: Int)?

    /// - Parameter table: what names in the type refer to; where it changed their meaning, the program is made again.
    func program(of form: CodableType.Form, in table: TypeTable?) -> TypeProgram {
        let generation = table?.generation ?? 0
        if let made = lock.withLock({ made }), made.generation == generation { return made.program }
        let program = TypeProgram(form)
        lock.withLock { made = (program, generation) }
        return program
    }
}
