public import CofferCore

/// A rotation of the keys of an encrypted store: values are written anew one by one, while the store is read and
/// written by any process.
///
/// ```swift
/// let rotation = try await engine.rotate()
/// for await state in rotation.updates { show(state.values, of: state.totalValues) }
/// let report = try await rotation.result()
/// ```
///
/// A rotation that was interrupted at any point is continued by the next one; every value can be read meanwhile.
public enum KeyRotation {
  /// A running rotation, counted in values. Values that were written anew stay so if it is cancelled or fails.
  public typealias Run = ObservedTask<State, Report>
}
